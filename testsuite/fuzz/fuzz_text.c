/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c - any bytes as the small texts of the API: quantities, CPU
 * lists, lists of nodes, ids, tasks, times, label and field selectors
 */
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/id_ranges.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/selector.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/record.h"
#include "testsuite/fuzz/fuzz.h"

/* A formatted value is read as the same value. */
static void
try_quantity(const char *text)
{
    char formatted[QUANTITY_TEXT_SIZE];
    struct quantity q, again;

    if (quantity_parse(text, &q) < 0)
        return;
    quantity_format(&q, formatted);
    if (quantity_parse(formatted, &again) < 0 || quantity_compare(&q, &again) != 0)
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
    if (cpuset_parse(formatted.text, &again, NULL) < 0 || !bitset_equals(&set, &again))
        abort();
}

static void
try_id_ranges(const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf formatted = STRBUF_INIT;
    struct id_ranges ranges = {0}, again = {0};
    int64_t total = 0;

    if (id_ranges_add(&ranges, text, arena, NULL) < 0)
        return;
    id_ranges_format(&ranges, &formatted);
    if (id_ranges_add(&again, formatted.text, arena, NULL) < 0 || again.count != ranges.count
        || again.total != ranges.total || again.n_elements != ranges.n_elements
        || ranges.total > ID_RANGES_MOST)
        abort();
    for (size_t i = 0; i < ranges.count; i++) {
        if (ranges.items[i].first > ranges.items[i].last
            || (i > 0 && ranges.items[i].first <= ranges.items[i - 1].last + 1))
            abort();
        total += ranges.items[i].last - ranges.items[i].first + 1;
    }
    if (total != ranges.total)
        abort();
}

/* The formatted list reads as the same list, each id is at its index, and the
 * list minus itself is empty.
 */
static void
try_task_list(const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf formatted = STRBUF_INIT;
    struct task_list list, again, none;

    if (task_list_parse(arena, text, &list, NULL) < 0 || list.total == 0)
        return;
    task_list_format(&list, &formatted);
    if (task_list_parse(arena, formatted.text, &again, NULL) < 0 || again.count != list.count
        || again.total != list.total)
        abort();
    for (int64_t i = 0; i < list.total; i += 1 + list.total / 64)
        if (task_list_index(&list, task_list_at(&list, i)) != i)
            abort();
    if (task_sets_subtract(arena, &list, &again, &none, NULL) < 0 || none.total != 0)
        abort();
}

/* The short form of the names reads as the same names. */
static void
try_hostlist(const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf formatted = STRBUF_INIT;
    const char **names, **again;
    size_t count, n_again;

    if (hostlist_expand(arena, text, &names, &count, NULL) < 0)
        return;
    if (count == 0 || count > HOSTLIST_MAX)
        abort();
    hostlist_format(names, count, 0, &formatted);
    if (formatted.length > HOSTLIST_LONGEST)
        return;
    if (hostlist_expand(arena, formatted.text, &again, &n_again, NULL) < 0 || n_again != count)
        abort();
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], again[i]) != 0)
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
    try_id_ranges(text);
    try_task_list(text);
    try_hostlist(text);
    (void)text_matches(text, text);
    (void)time_parse(text, &us);
    if (label_query_parse(arena, text, &labels, NULL) == 0)
        (void)label_query_matches(labels, &none);
    (void)field_query_parse(arena, &pod_kind, text, &fields, NULL);
    return 0;
}
