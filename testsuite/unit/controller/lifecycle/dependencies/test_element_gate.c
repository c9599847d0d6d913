/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that wait for elements of another array with the same task ids. */
#include "controller/lifecycle/dependencies/element_gate.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_ends.h"
#include "lib/api/job/job.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define MANY 10000

static struct job_array waiting_array, other_array;
static struct job waiting_job, other_job;
static struct element_ends *ends;
static struct element_gate *gate;

static void
begin(const char *waiting, const char *other)
{
    waiting_array.tasks = waiting;
    waiting_job.spec.array = &waiting_array;
    other_array.tasks = other;
    other_job.spec.array = other != NULL ? &other_array : NULL;
    ends = element_ends_new();
    element_ends_follow(ends, &other_job);
    gate = element_gate_new(&waiting_job);
    element_gate_add(gate, ends);
    element_gate_complete(gate);
}

static void
end(void)
{
    element_gate_free(gate);
    element_ends_free(ends);
}

static bool
see(int64_t index, bool is_ok)
{
    element_ends_see(ends, index, is_ok ? ELEMENT_DONE : ELEMENT_FAILED);
    return element_gate_note_end(gate, ends, index);
}

static bool
load(const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return element_ends_load(ends, json_parse(arena, text, strlen(text), NULL, NULL));
}

START_TEST(each_end_moves_the_element_with_its_task_id_and_no_other)
{
    begin("5,7-9", "1-8");

    ck_assert(!see(0, true)); /* task 1, for which no element waits */
    ck_assert_int_eq(element_gate_judge(gate), DEPENDENCY_WAITS);
    ck_assert(see(6, true)); /* task 7, for which element 1 waits */

    ck_assert(!index_set_has(&gate->waiting, 1));
    ck_assert(index_set_has(&gate->waiting, 0));
    ck_assert_int_eq(gate->freed_from, 0); /* the gate is new */
    ck_assert_int_eq(element_gate_judge(gate), DEPENDENCY_IS_MET);
    ck_assert(see(7, false));
    ck_assert(index_set_has(&gate->never, 2));
    ck_assert(index_set_has(&gate->never, 3)); /* there is no task 9 */
    ck_assert(!see(7, false));
    end();
}
END_TEST

START_TEST(ten_thousand_for_ten_thousand_are_one_step_each)
{
    int64_t moved = 0;

    begin("0-9999", "0-9999");
    for (int64_t i = 0; i < MANY; i++) {
        gate->freed_from = INT64_MAX;
        moved += see(i ^ 1, (i & 2) == 0);
        if ((i & 2) == 0)
            ck_assert_int_eq(gate->freed_from, i ^ 1);
        /* The memory depends on the number of ranges, which stays small. */
        ck_assert_uint_le(gate->waiting.count, (size_t)(i / 4 + 2));
    }
    ck_assert_int_eq(moved, MANY);
    ck_assert_int_eq(index_set_count(&gate->never), MANY / 2);
    ck_assert_int_eq(index_set_count(&gate->waiting), MANY / 2);
    for (int64_t i = 0; i < MANY; i++)
        element_gate_drop(gate, i);
    ck_assert_int_eq(index_set_count(&gate->waiting), 0);
    end();
}
END_TEST

START_TEST(an_element_that_has_not_completed_at_the_end_never_will)
{
    begin("0-3", "0-3");
    ck_assert(element_ends_needs_load(ends));
    element_ends_close(ends, false, false);
    element_gate_check_all(gate);
    ck_assert_int_eq(element_gate_judge(gate), DEPENDENCY_WAITS);

    ck_assert(!load("{}"));
    ck_assert(load("{\"chunks\":[]}"));
    element_gate_check_all(gate);
    ck_assert_int_eq(element_gate_judge(gate), DEPENDENCY_IS_NEVER_MET);
    end();
}
END_TEST

START_TEST(a_look_at_all_agrees_with_what_was_heard_one_by_one)
{
    begin("1-999999:7", "1-999999:7");
    for (int64_t i = 0; i < MANY; i += 2)
        element_ends_see(ends, i, (i & 2) == 0 ? ELEMENT_DONE : ELEMENT_FAILED);
    element_gate_check_all(gate);
    for (int64_t i = 0; i < MANY; i++) {
        ck_assert(index_set_has(&gate->waiting, i) == ((i & 3) != 0));
        ck_assert(index_set_has(&gate->never, i) == ((i & 3) == 2));
    }
    end();
}
END_TEST

START_TEST(a_job_that_is_no_array_is_waited_for_as_a_whole)
{
    begin("0-3", NULL);
    ck_assert_int_eq(element_gate_judge(gate), DEPENDENCY_WAITS);
    element_ends_close(ends, true, false);
    element_gate_check_all(gate);
    ck_assert_int_eq(index_set_count(&gate->waiting), 0);
    end();
}
END_TEST

START_TEST(each_of_several_arrays_is_waited_for)
{
    struct element_ends *others = element_ends_new();

    begin("0-3", "0-3");
    element_ends_follow(others, &other_job);
    element_gate_add(gate, others);

    ck_assert(!see(2, true));
    element_ends_see(others, 2, true);
    ck_assert(element_gate_note_end(gate, others, 2));
    ck_assert_int_eq(index_set_count(&gate->waiting), 3);
    end();
    element_ends_free(others);
}
END_TEST

SUITE("element_gate", each_end_moves_the_element_with_its_task_id_and_no_other,
      ten_thousand_for_ten_thousand_are_one_step_each,
      an_element_that_has_not_completed_at_the_end_never_will,
      a_look_at_all_agrees_with_what_was_heard_one_by_one,
      a_job_that_is_no_array_is_waited_for_as_a_whole, each_of_several_arrays_is_waited_for)
