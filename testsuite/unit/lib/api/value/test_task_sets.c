/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/task_sets.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define ROUNDS 20000
#define IDS    80

typedef int sets_fn(struct arena *, const struct task_list *, const struct task_list *,
                    struct task_list *, struct error *);

static const char *
text_of(struct arena *arena, const struct task_list *list)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    task_list_format(list, &out);
    return arena_strdup(arena, out.length > 0 ? out.text : "");
}

START_TEST(two_lists_make_a_third)
{
    static const struct {
        sets_fn *operation;
        const char *a, *b, *result;
    } cases[] = {
        {task_sets_unite, "0-9", "5-20", "0-20"},
        {task_sets_unite, "0-100:10", "5-95:10", "0-100:5"},
        {task_sets_unite, "", "7", "7"},
        {task_sets_unite, "0-1000000", "7-1000000:7", "0-1000000"},
        {task_sets_intersect, "0-1000000:6", "0-1000000:10", "0-999990:30"},
        {task_sets_intersect, "1-99:2", "2-98:2", ""},
        {task_sets_intersect, "0-4000000000:3999999979", "0", "0"},
        {task_sets_intersect, "1-4000000000:3999999979", "3-4000000000:3999999977", "3999999980"},
        {task_sets_subtract, "0-1000000", "500000", "0-499999,500001-1000000"},
        {task_sets_subtract, "0-1000000", "0-1000000:2", "1-999999:2"},
        {task_sets_subtract, "0-20:2", "0-20:6", "2,4,8,10,14,16,20"},
        {task_sets_subtract, "5", "0-9", ""},
        {task_sets_subtract, "0-9", "", "0-9"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct task_list a, b, result;

        ck_assert_int_eq(task_list_parse(arena, cases[i].a, &a, NULL), 0);
        ck_assert_int_eq(task_list_parse(arena, cases[i].b, &b, NULL), 0);
        ck_assert_int_eq(cases[i].operation(arena, &a, &b, &result, NULL), 0);

        ck_assert_str_eq(text_of(arena, &result), cases[i].result);
    }
}
END_TEST

/* A few random ranges as text, and their ids. */
static const char *
make_list(struct arena *arena, struct random_source *random, bool has[IDS])
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const uint64_t count = 1 + random_below(random, 4);

    memset(has, 0, IDS * sizeof(*has));
    for (uint64_t i = 0; i < count; i++) {
        const unsigned first = (unsigned)random_below(random, IDS);
        const unsigned last = first + (unsigned)random_below(random, IDS - first);
        const unsigned step = 1 + (unsigned)random_below(random, 7);

        strbuf_printf(&out, "%s%u-%u:%u", i > 0 ? "," : "", first, last, step);
        for (unsigned id = first; id <= last; id += step)
            has[id] = true;
    }
    return arena_strdup(arena, out.text);
}

static void
check(struct arena *arena, const struct task_list *list, const bool has[IDS])
{
    const char *text = text_of(arena, list);
    struct task_list again;
    int64_t index = 0;

    for (int64_t id = 0; id < IDS; id++) {
        ck_assert_msg(task_list_index(list, id) == (has[id] ? index : -1), "%s has %ld wrong", text,
                      (long)id);
        if (has[id])
            ck_assert_int_eq(task_list_at(list, index++), id);
    }
    ck_assert_int_eq(list->total, index);

    ck_assert_int_eq(task_list_parse(arena, text, &again, NULL), 0);
    ck_assert_str_eq(text_of(arena, &again), text);
    ck_assert_uint_eq(again.count, list->count);
}

START_TEST(random_lists_are_what_a_table_of_ids_says)
{
    struct random_source random = {.state = 20261123};

    for (int round = 0; round < ROUNDS; round++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        bool x[IDS], y[IDS], want[IDS];
        struct task_list a, b, result;

        ck_assert_int_eq(task_list_parse(arena, make_list(arena, &random, x), &a, NULL), 0);
        ck_assert_int_eq(task_list_parse(arena, make_list(arena, &random, y), &b, NULL), 0);
        check(arena, &a, x);

        for (int id = 0; id < IDS; id++)
            want[id] = x[id] || y[id];
        ck_assert_int_eq(task_sets_unite(arena, &a, &b, &result, NULL), 0);
        check(arena, &result, want);
        for (int id = 0; id < IDS; id++)
            want[id] = x[id] && y[id];
        ck_assert_int_eq(task_sets_intersect(arena, &a, &b, &result, NULL), 0);
        check(arena, &result, want);
        for (int id = 0; id < IDS; id++)
            want[id] = x[id] && !y[id];
        ck_assert_int_eq(task_sets_subtract(arena, &a, &b, &result, NULL), 0);
        check(arena, &result, want);
    }
}
END_TEST

START_TEST(a_result_of_too_many_ranges_is_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct task_list a, b, result;
    struct error err = {0};

    ck_assert_int_eq(task_list_parse(arena, "0-4000000000", &a, NULL), 0);
    ck_assert_int_eq(task_list_parse(arena, "0-4000000000:3", &b, NULL), 0);

    ck_assert_int_eq(task_sets_subtract(arena, &a, &b, &result, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "ranges"));
}
END_TEST

SUITE("task_sets", two_lists_make_a_third, random_lists_are_what_a_table_of_ids_says,
      a_result_of_too_many_ranges_is_refused)
