/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantity.c - quantities as upstream reads, writes and counts them */
#include "lib/api/quantity.h"

#include <errno.h>
#include <inttypes.h>

#include "testsuite/lib/vectors.h"

static const char *const formats[] = {
    [QUANTITY_DECIMAL_SI] = "DecimalSI",
    [QUANTITY_BINARY_SI] = "BinarySI",
    [QUANTITY_DECIMAL_EXPONENT] = "DecimalExponent",
};

/* Upstream's own arithmetic went wrong: an exponent that wrapped round to -1,
 * and negative numbers beyond 2^58 in binary suffixes.
 */
static bool
is_wrong_upstream(const char *in)
{
    static const char *const known[] = {
        "1e9223372036854775807",
        "-0437.Pi",
        "-5033Pi",
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(in, known[i]) == 0)
            return true;
    return false;
}

static bool
is_number(const struct json *expect, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return strcmp(text, json_get_text(expect, name)) == 0;
}

static void
check_parse(struct vectors *v, struct arena *arena, const struct json *line)
{
    const char *in = json_get_text(line, "in");
    const struct json *expect = json_get(line, "expect");
    struct json *value = json_string(arena, in);
    struct error err = {0};
    struct quantity q;
    int r = quantity_parse(in, &q);

    if (is_wrong_upstream(in))
        return;
    if (json_get(expect, "error") != NULL) {
        if (r == -EINVAL)
            vectors_pass(v, "parse");
        else
            vectors_fail(v, "parse", "'%s' should be refused", in);
        return;
    }
    if (r == -ERANGE && json_is_true(json_get(expect, "valueOverflows"))) {
        vectors_pass(v, "parse"); /* Kiln's own bound, well beyond 64 bits */
        return;
    }
    if (r < 0) {
        vectors_fail(v, "parse", "'%s' should be read", in);
        return;
    }
    if (quantity_canonicalize(arena, value, &err) < 0
        || strcmp(value->text, json_get_text(expect, "canonical")) != 0)
        vectors_fail(v,
                     "parse",
                     "'%s' is '%s', not '%s'",
                     in,
                     json_get_text(expect, "canonical"),
                     value->text);
    else if (strcmp(formats[q.format], json_get_text(expect, "format")) != 0)
        vectors_fail(v,
                     "parse",
                     "'%s' has format %s, not %s",
                     in,
                     json_get_text(expect, "format"),
                     formats[q.format]);
    else if (!json_is_true(json_get(expect, "valueOverflows"))
             && !is_number(expect, "value", quantity_value(&q)))
        vectors_fail(v, "parse", "'%s' has the wrong value", in);
    else if (!json_is_true(json_get(expect, "milliOverflows"))
             && !is_number(expect, "milliValue", quantity_milli_value(&q)))
        vectors_fail(v, "parse", "'%s' has the wrong milli value", in);
    else if (json_get_int(expect, "sign", 0) != quantity_sign(&q))
        vectors_fail(v, "parse", "'%s' has the wrong sign", in);
    else
        vectors_pass(v, "parse");
}

static bool
is_text(const struct json *expect, const char *name, const struct quantity *q)
{
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(q, text);
    return strcmp(text, json_get_text(expect, name)) == 0;
}

static void
check_pair(struct vectors *v, const struct json *line)
{
    const struct json *expect = json_get(line, "expect");
    const char *name = json_get_text(line, "case");
    struct quantity a, b, sum, difference;

    if (quantity_parse(json_get_text(line, "a"), &a) < 0
        || quantity_parse(json_get_text(line, "b"), &b) < 0) {
        vectors_fail(v, "pair", "%s cannot be read", name);
        return;
    }
    sum = difference = a;
    quantity_add(&sum, &b);
    quantity_subtract(&difference, &b);
    if (json_get_int(expect, "cmp", 0) != quantity_compare(&a, &b))
        vectors_fail(v, "pair", "%s compares wrong", name);
    else if (!is_text(expect, "sum", &sum))
        vectors_fail(v, "pair", "%s has another sum", name);
    else if (!is_text(expect, "difference", &difference))
        vectors_fail(v, "pair", "%s has another difference", name);
    else
        vectors_pass(v, "pair");
}

static void
check_line(struct vectors *v, struct arena *arena, const struct json *line)
{
    if (strcmp(json_get_text(line, "kind"), "parse") == 0)
        check_parse(v, arena, line);
    else
        check_pair(v, line);
}

int
main(void)
{
    struct vectors v = {0};

    vectors_each(&v, "scheduler/quantity.jsonl.gz", check_line);
    return vectors_end(&v);
}
