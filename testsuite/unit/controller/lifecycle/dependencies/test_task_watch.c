/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that wait for single tasks, whose ids are not their indexes. */
#include "controller/lifecycle/dependencies/task_watch.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>

#include "controller/lifecycle/dependencies/element_ends.h"
#include "lib/api/job/element_states.h"
#include "lib/api/job/job.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define MANY 10000

static struct job_array array;
static struct job job;
static struct element_ends *ends;
static struct task_watches *all;
static unsigned n_changed;

static void
count_changed(struct task_watch *watch, void *context)
{
    (void)watch;
    (void)context;
    n_changed++;
}

static void
begin(const char *tasks)
{
    array.tasks = tasks;
    job.spec.array = &array;
    ends = element_ends_new();
    element_ends_follow(ends, &job);
    ends->is_loaded = true;
    all = task_watches_new(count_changed, NULL);
    n_changed = 0;
}

static void
end(void)
{
    task_watches_free(all);
    element_ends_free(ends);
}

static struct task_watch *
watch(enum job_dependency_type type, const char *tasks)
{
    struct task_watch *w = task_watches_get(all, type, tasks);

    task_watches_check(all, w, ends);
    return w;
}

static void
see(int64_t index, enum element_state state)
{
    element_ends_see(ends, index, state);
    task_watches_note_end(all, ends, index);
}

START_TEST(a_task_is_known_by_its_id_and_heard_of_by_its_index)
{
    struct task_watch *ok, *bad;

    begin("10-40:10");
    ok = watch(DEPENDENCY_OK, "20");
    bad = watch(DEPENDENCY_NOT_OK, "40");
    ck_assert_ptr_eq(watch(DEPENDENCY_OK, "20"), ok);

    see(2, ELEMENT_DONE);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_WAITS);
    see(1, ELEMENT_DONE);
    see(3, ELEMENT_FAILED);

    ck_assert_int_eq(ok->verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(bad->verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(task_watch_end(bad), JOB_STATE_FAILED);
    end();
}
END_TEST

START_TEST(a_range_is_judged_like_a_job_of_its_tasks)
{
    static const struct {
        enum element_state states[3];
        enum job_dependency_verdict ok, not_ok, any;
    } cases[] = {
        {{ELEMENT_DONE, ELEMENT_DONE, ELEMENT_DONE},
         DEPENDENCY_IS_MET,
         DEPENDENCY_IS_NEVER_MET,
         DEPENDENCY_IS_MET},
        {{ELEMENT_DONE, ELEMENT_FAILED, ELEMENT_DONE},
         DEPENDENCY_IS_NEVER_MET,
         DEPENDENCY_IS_MET,
         DEPENDENCY_IS_MET},
        {{ELEMENT_DONE, ELEMENT_CANCELLED, ELEMENT_WAITING},
         DEPENDENCY_IS_NEVER_MET,
         DEPENDENCY_WAITS,
         DEPENDENCY_WAITS},
        {{ELEMENT_WAITING, ELEMENT_DONE, ELEMENT_DONE},
         DEPENDENCY_WAITS,
         DEPENDENCY_WAITS,
         DEPENDENCY_WAITS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct task_watch *ok, *not_ok, *any;

        begin("0-99");
        ok = watch(DEPENDENCY_OK, "5-7");
        not_ok = watch(DEPENDENCY_NOT_OK, "5-7");
        any = watch(DEPENDENCY_ANY, "5-7");
        for (int64_t k = 2; k >= 0; k--) /* in any order */
            if (cases[i].states[k] != ELEMENT_WAITING)
                see(5 + k, cases[i].states[k]);
        ck_assert_int_eq(ok->verdict, cases[i].ok);
        ck_assert_int_eq(not_ok->verdict, cases[i].not_ok);
        ck_assert_int_eq(any->verdict, cases[i].any);
        end();
    }
}
END_TEST

START_TEST(after_is_met_when_each_has_begun_or_ended)
{
    struct task_watch *after;

    begin("0-9");
    after = watch(DEPENDENCY_AFTER, "3-5");
    element_ends_begin(ends, 4);
    task_watches_note_end(all, ends, 4);
    see(3, ELEMENT_CANCELLED);
    ck_assert_int_eq(after->verdict, DEPENDENCY_WAITS);
    element_ends_begin(ends, 5);
    task_watches_note_end(all, ends, 5);
    ck_assert_int_eq(after->verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

/* A controller that has just started knows only from the record that a task had
 * started and waits for its next attempt.
 */
START_TEST(one_that_is_to_run_again_has_begun)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct element_chunk chunk = {0};
    struct json *elements = json_object(arena), *item = json_object(arena);
    struct json *chunks = json_array(arena);
    struct task_watch *after, *first;

    element_chunk_set_tries(&chunk, &(struct element_tries){.index = 3, .attempt = 2});
    element_chunk_format(&chunk, 0, &text);
    json_set_string(arena, item, "text", text.text);
    json_set(arena, elements, "chunks", chunks);
    json_append(arena, chunks, item);
    begin("0-9");
    after = watch(DEPENDENCY_AFTER, "3");
    first = watch(DEPENDENCY_AFTER, "4");
    ck_assert(element_ends_load(ends, elements));
    task_watches_check_all(all, ends);

    ck_assert_int_eq(after->verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(first->verdict, DEPENDENCY_WAITS);
    element_chunk_fini(&chunk);
    end();
}
END_TEST

START_TEST(ten_thousand_that_wait_for_a_task_each_hear_of_that_one_alone)
{
    begin("0-9999");
    for (int i = 0; i < MANY; i++) {
        char text[8];

        (void)snprintf(text, sizeof(text), "%d", i);
        watch(DEPENDENCY_OK, text);
    }
    for (int64_t i = 0; i < MANY; i++) {
        see(i, ELEMENT_DONE);
        ck_assert_uint_eq(n_changed, (unsigned)i + 1);
    }
    end();
}
END_TEST

START_TEST(a_range_of_a_million_is_passed_in_few_steps)
{
    struct task_watch *w;

    begin("0-999999");
    w = watch(DEPENDENCY_ANY, "0-999998:2");
    index_set_add_range(&ends->ok, 0, 499999);
    index_set_add_range(&ends->bad, 500000, 999999);
    task_watches_check_all(all, ends);
    ck_assert_int_eq(w->verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(task_watch_end(w), JOB_STATE_FAILED);
    end();
}
END_TEST

START_TEST(an_array_that_is_over_decides_what_had_not_ended)
{
    struct task_watch *ok, *any;

    begin("0-9");
    ok = watch(DEPENDENCY_OK, "3");
    any = watch(DEPENDENCY_ANY, "3-4");
    element_ends_close(ends, false, false);
    task_watches_check_all(all, ends);
    /* until the record is read */
    ck_assert_int_eq(ok->verdict, DEPENDENCY_WAITS);
    ends->is_loaded = true;
    task_watches_check_all(all, ends);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_IS_NEVER_MET);
    ck_assert_int_eq(any->verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(task_watch_end(any), JOB_STATE_CANCELLED);
    end();
}
END_TEST

START_TEST(the_answer_of_history_about_a_lost_array_stays)
{
    struct task_watch *ok, *other;

    begin("0-9");
    ends->is_loaded = false;
    ok = watch(DEPENDENCY_OK, "3");
    other = watch(DEPENDENCY_OK, "4");
    element_ends_close(ends, false, true);
    task_watches_check_all(all, ends);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_WAITS);
    task_watches_settle(all, ok, JOB_STATE_COMPLETED);
    task_watches_check_all(all, ends);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(other->verdict, DEPENDENCY_WAITS);
    end();
}
END_TEST

START_TEST(a_task_that_runs_again_is_waited_for_again)
{
    struct task_watch *ok;

    begin("0-9");
    ok = watch(DEPENDENCY_OK, "2-4");
    see(2, ELEMENT_DONE);
    see(3, ELEMENT_FAILED);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_IS_NEVER_MET);
    element_ends_see(ends, 3, ELEMENT_WAITING);
    task_watches_check_all(all, ends);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_WAITS);
    see(3, ELEMENT_DONE);
    see(4, ELEMENT_DONE);
    ck_assert_int_eq(ok->verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

SUITE("task_watch", a_task_is_known_by_its_id_and_heard_of_by_its_index,
      a_range_is_judged_like_a_job_of_its_tasks, after_is_met_when_each_has_begun_or_ended,
      one_that_is_to_run_again_has_begun,
      ten_thousand_that_wait_for_a_task_each_hear_of_that_one_alone,
      a_range_of_a_million_is_passed_in_few_steps, an_array_that_is_over_decides_what_had_not_ended,
      the_answer_of_history_about_a_lost_array_stays, a_task_that_runs_again_is_waited_for_again)
