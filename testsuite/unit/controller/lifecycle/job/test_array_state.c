/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/array_state.h"

#include "lib/api/job/job.h"
#include "lib/api/value/index_set.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define SECOND INT64_C(1000000)

static struct array_state *
state_of(const char *tasks, const char *held, const char *cancelled)
{
    const struct job_array array = {
        .tasks = tasks,
        .held = held,
        .cancelled = cancelled,
    };
    const struct job job = {.spec.array = &array};

    return array_state_new(&job);
}

static int
count_barred(const struct array_state *a)
{
    int n = 0;

    for (int64_t i = 0; i < 1000; i++)
        n += array_state_is_barred(a, i);
    return n;
}

START_TEST(lists_of_tasks_become_sets_of_indexes)
{
    struct array_state *a = state_of("1-1000:7", "8-29:7", "1,995");

    ck_assert_int_eq(count_barred(a), 6);
    ck_assert(array_state_is_barred(a, 0));
    ck_assert(array_state_is_barred(a, 1));
    ck_assert(array_state_is_barred(a, 4));
    ck_assert(!array_state_is_barred(a, 5));
    ck_assert(array_state_is_cancelled(a, 0));
    ck_assert(!array_state_is_cancelled(a, 1));
    ck_assert(array_state_take_visit(a));
    array_state_free(a);
}
END_TEST

START_TEST(a_list_may_go_across_the_ranges_of_the_array)
{
    struct array_state *a = state_of("0-9,20-29:3", "8-9,20-23:3", NULL);

    ck_assert_int_eq(count_barred(a), 4);
    ck_assert(array_state_is_barred(a, 8));
    ck_assert(array_state_is_barred(a, 11));
    array_state_free(a);
}
END_TEST

START_TEST(the_window_follows_what_gets_a_node)
{
    struct array_state *a = state_of("0-99999", NULL, NULL);

    array_state_set_window(a, 10 * SECOND);
    ck_assert_int_eq(array_state_window(a), 64);
    for (int i = 0; i < 500; i++)
        array_state_note_bound(a);
    array_state_set_window(a, 10 * SECOND + 1);
    ck_assert_int_eq(array_state_window(a), 1000);
    array_state_set_window(a, 11 * SECOND + 1);
    ck_assert_int_eq(array_state_window(a), 1000);
    array_state_set_window(a, 12 * SECOND + 1);
    ck_assert_int_eq(array_state_window(a), 64);
    array_state_free(a);
}
END_TEST

START_TEST(those_that_wait_are_told_by_their_tasks_and_shortly)
{
    static const struct {
        const char *tasks, *cancelled;
        int64_t taken[2];
        const char *text;
    } cases[] = {
        {"0-99", NULL, {0, 56}, "57-99"},
        {"1-1000:7", NULL, {0, 1}, "15-995:7"},
        {"0-9,20-29:3", NULL, {2, 10}, "0-1,23-29:3"},
        {"0-9", "3-5", {0, 1}, "2,6-9"},
        {"0-9", "0-9", {0, 1}, ""},
        {"5", NULL, {0, 0}, ""},
        {"0-999", "2-999:2", {0, 0}, "1-999:2"},
        {"0-999:5", "0-990:10", {0, 0}, "5-995:10"},
        {"0-30", "0,2,4,6,9-12,14-19", {0, 0}, "1-5:2,7-8,13,20-30"},
        {"0-9", "1-3,5-9", {1, 1}, "0,4"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct array_state *a = state_of(cases[i].tasks, NULL, cases[i].cancelled);
        struct index_set taken = {0};

        index_set_add_range(&taken, cases[i].taken[0], cases[i].taken[1]);
        array_state_format_waiting(a, &taken, &out);
        ck_assert_str_eq(out.length > 0 ? out.text : "", cases[i].text);
        index_set_fini(&taken);
        array_state_free(a);
    }
}
END_TEST

START_TEST(a_scattered_array_is_shortened)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct array_state *a = state_of("0-999999", NULL, NULL);
    struct index_set taken = {0};

    for (int64_t i = 0; i < 100000; i += 2)
        index_set_add(&taken, i);
    array_state_format_waiting(a, &taken, &out);
    ck_assert_str_eq(out.text, "1-1023:2,...");

    strbuf_truncate(&out, 0);
    for (int64_t i = 1; i < 100000; i += 7)
        index_set_add(&taken, i);
    array_state_format_waiting(a, &taken, &out);
    ck_assert_uint_lt(out.length, 300);
    ck_assert_str_eq(out.text + out.length - 4, ",...");

    strbuf_truncate(&out, 0);
    array_state_format(a, &taken, &out);
    ck_assert_uint_gt(out.length, 300);
    ck_assert_uint_lt(out.length, 3000);
    ck_assert_str_eq(out.text + out.length - 4, ",...");
    index_set_fini(&taken);
    array_state_free(a);
}
END_TEST

SUITE("array_state", lists_of_tasks_become_sets_of_indexes,
      a_list_may_go_across_the_ranges_of_the_array, the_window_follows_what_gets_a_node,
      those_that_wait_are_told_by_their_tasks_and_shortly, a_scattered_array_is_shortened)
