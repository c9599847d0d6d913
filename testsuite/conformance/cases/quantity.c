/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of quantities as upstream reads, writes and counts them. */
#include "lib/api/value/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static const char *const formats[] = {
    [QUANTITY_DECIMAL_SI] = "DecimalSI",
    [QUANTITY_BINARY_SI] = "BinarySI",
    [QUANTITY_DECIMAL_EXPONENT] = "DecimalExponent",
};

/* Upstream's arithmetic is wrong in one case, whose numbers are therefore
 * ignored: for a number below -2^63 in billionths, outside the fast path, it
 * divides the low 64 bits.
 */
static bool
is_divided_wrong(const struct json *expect, const struct quantity *q)
{
    return json_get(expect, "asInt64") == NULL && q->nano < INT64_MIN;
}

static void
want_value(struct trial *t, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, value);
    want_text(t, name, json_get_text(t->expect, name), text);
}

static void
want_numbers(struct trial *t, const struct quantity *q)
{
    bool is_artefact = is_divided_wrong(t->expect, q);

    if (!is_artefact && !json_is_true(json_get(t->expect, "valueOverflows")))
        want_value(t, "value", quantity_value(q));
    if (!is_artefact && !json_is_true(json_get(t->expect, "milliOverflows")))
        want_value(t, "milliValue", quantity_milli_value(q));
    if (json_get(t->expect, "asInt64") != NULL)
        want_value(t, "asInt64", quantity_value(q));
    want_number(t, "sign", json_get_int(t->expect, "sign", 0), quantity_sign(q));
}

static void
run_parse(struct trial *t)
{
    const char *in = json_get_text(t->line, "in");
    struct json *value = json_string(t->arena, in);
    struct error err = {0};
    struct quantity q;
    int r = quantity_parse(in, &q);

    if (json_get(t->expect, "error") != NULL) {
        want_number(t, "error", -EINVAL, r);
    } else if (r == -ERANGE && json_is_true(json_get(t->expect, "valueOverflows"))) {
        return; /* Kiln's own limit, well beyond 64 bits */
    } else if (r < 0 || quantity_canonicalize(t->arena, value, &err) < 0) {
        mismatch(t, "'%s' should be read", in);
    } else {
        want_text(t, "canonical", json_get_text(t->expect, "canonical"), value->text);
        want_text(t, "format", json_get_text(t->expect, "format"), formats[q.format]);
        want_numbers(t, &q);
    }
}

static void
want_quantity(struct trial *t, const char *name, const struct quantity *q)
{
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(q, text);
    want_text(t, name, json_get_text(t->expect, name), text);
}

static void
run_pair(struct trial *t)
{
    struct quantity a, b, sum, difference;

    if (quantity_parse(json_get_text(t->line, "a"), &a) < 0
        || quantity_parse(json_get_text(t->line, "b"), &b) < 0) {
        mismatch(t, "cannot be read");
        return;
    }
    sum = difference = a;
    quantity_add(&sum, &b);
    quantity_subtract(&difference, &b);
    want_number(t, "cmp", json_get_int(t->expect, "cmp", 0), quantity_compare(&a, &b));
    want_quantity(t, "sum", &sum);
    want_quantity(t, "difference", &difference);
}

void
quantity_case(struct trial *t)
{
    const char *kind = json_get_text(t->line, "kind");

    if (strcmp(kind, "parse") == 0)
        run_parse(t);
    else if (strcmp(kind, "pair") == 0)
        run_pair(t);
    else
        trial_skip(t, "no runner for quantities of this kind");
}
