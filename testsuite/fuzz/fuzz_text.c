/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c - any bytes as the small texts of the API: quantities, CPU
 * lists, times, label and field selectors
 */
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"
#include "testsuite/fuzz/fuzz.h"

/* What was formatted is read as the same. */
static void
try_quantity(const char *text)
{
    char formatted[QUANTITY_TEXT_SIZE];
    struct quantity q, again;

    if (quantity_parse(text, &q) < 0)
        return;
    quantity_format(&q, formatted);
    if (quantity_parse(formatted, &again) < 0
        || quantity_compare(&q, &again) != 0)
        abort();
    (void)quantity_value(&q);
    (void)quantity_milli_value(&q);
}

static void
try_cpuset(const char *text)
{
    CLEANUP_STRBUF struct strbuf formatted = STRBUF_INIT;
    struct bitset set = {0}, again = {0};

    if (cpuset_parse(text, &set, NULL) < 0)
        return;
    cpuset_format(&set, &formatted);
    if (cpuset_parse(formatted.text, &again, NULL) < 0
        || !bitset_equals(&set, &again))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *text = xstrndup((const char *)bytes, length);
    struct label_query *labels;
    struct field_query *fields;
    struct string_map none = {0};
    int64_t us;

    try_quantity(text);
    try_cpuset(text);
    (void)time_parse(text, &us);
    if (label_query_parse(arena, text, &labels, NULL) == 0)
        (void)label_query_matches(labels, &none);
    (void)field_query_parse(arena, &pod_kind, text, &fields, NULL);
    return 0;
}
