/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that wait for jobs, with an API that answers when the test lets it. */
#include "controller/lifecycle/dependencies/dependencies.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/record.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

#define MANY   10000
#define MINUTE INT64_C(60000000)

static struct fake_clock now;
static struct fake_client *api;
static struct object_cache *cache;
static struct dependencies *dependencies;
static unsigned n_woken;

static void
count_woken(const char *key, void *context)
{
    (void)key;
    (void)context;
    n_woken++;
}

static void
on_job(const struct object *old_job, const struct object *new_job, void *context)
{
    (void)context;
    dependencies_see(dependencies, old_job, new_job);
}

static void
begin(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    cache = object_cache_new(fake_client_client(api));
    dependencies = dependencies_new(&(struct dependencies_settings){fake_client_client(api), cache,
                                                                    &now.clock, count_woken, NULL});
    object_cache_listen(cache, &job_kind, on_job, NULL);
    object_cache_start(cache);
    fake_client_run(api);
    dependencies_start(dependencies);
    n_woken = 0;
}

static void
end(void)
{
    dependencies_free(dependencies);
    object_cache_free(cache);
    fake_client_free(api);
}

static void
put(unsigned id, const char *spec, const char *status)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
                                 "\"name\":\"job-%u\",\"namespace\":\"default\",\"uid\":\"u%u\"},"
                                 "\"spec\":{%s%s\"template\":{\"spec\":{\"containers\":["
                                 "{\"name\":\"main\"}]}}},\"status\":{\"id\":%u%s%s}}",
                                 id, id, spec, spec[0] != '\0' ? "," : "", id,
                                 status[0] != '\0' ? "," : "", status));
}

#define ON(type, id)                                         \
    "{\"type\":\"" type "\",\"job\":" #id ",\"uid\":\"u" #id \
    "\",\"namespace\":\"default\",\"name\":\"job-" #id "\"}"
#define AFTER(list) "\"dependencies\":{\"jobs\":[" list "]}"
#define RUNS        "\"state\":\"Running\",\"active\":1,\"ready\":1"
#define COMPLETED                                                     \
    "\"state\":\"Completed\",\"conditions\":[{\"type\":\"Complete\"," \
    "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
#define FAILED                                                   \
    "\"state\":\"Failed\",\"conditions\":[{\"type\":\"Failed\"," \
    "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"

static struct dependency_answer
judge(const char *name)
{
    static char message[256];
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct dependency_answer answer;

    dependencies_judge(dependencies, fake_client_find(api, &job_kind, "default", name), arena,
                       &answer);
    message[0] = '\0';
    if (answer.message != NULL)
        strncpy(message, answer.message, sizeof(message) - 1);
    answer.message = message;
    return answer;
}

START_TEST(an_end_decides_once_for_all_that_wait)
{
    begin();
    put(1, "", RUNS);
    put(2, AFTER(ON("afterok", 1)), "");
    put(3, AFTER(ON("afternotok", 1)), "");
    put(4, AFTER(ON("afterany", 1)), "");
    put(5, AFTER(ON("after", 1)), "");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
    ck_assert_int_eq(judge("job-5").verdict, DEPENDENCY_IS_MET);

    put(1, "", FAILED);
    put(1, "", FAILED);
    fake_client_run(api);

    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_NEVER_MET);
    ck_assert_str_eq(judge("job-2").message,
                     "afterok:1 can never be met: job 1 has ended as Failed");
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(judge("job-4").verdict, DEPENDENCY_IS_MET);
    fake_client_run(api);
    end();
}
END_TEST

START_TEST(ten_thousand_are_woken_by_the_end_that_decides_and_by_no_other)
{
    begin();
    put(1, "", RUNS);
    put(2, "", RUNS);
    for (unsigned i = 0; i < MANY; i++)
        put(10 + i, AFTER(ON("afterok", 1) "," ON("afterany", 2)), "");
    fake_client_run(api);
    n_woken = 0;

    put(2, "", FAILED);
    fake_client_run(api);
    ck_assert_uint_eq(n_woken, 0);

    put(1, "", COMPLETED);
    fake_client_run(api);
    ck_assert_uint_eq(n_woken, MANY);
    ck_assert_int_eq(judge("job-10").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

START_TEST(minutes_pass_though_the_clock_is_set)
{
    begin();
    put(1, "", "");
    put(2,
        AFTER("{\"type\":\"after\",\"job\":1,\"uid\":\"u1\",\"namespace\":"
              "\"default\",\"name\":\"job-1\",\"delaySeconds\":600}"),
        "");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
    put(1, "", RUNS);
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").wake_after_us, 10 * MINUTE);

    now.real_us += 60 * MINUTE;
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
    now.real_us -= 600 * MINUTE;
    now.monotonic_us += 9 * MINUTE;
    ck_assert_int_eq(judge("job-2").wake_after_us, MINUTE);
    now.monotonic_us += MINUTE;
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

#define TEN_MINUTES_AFTER_1                                             \
    AFTER("{\"type\":\"after\",\"job\":1,\"uid\":\"u1\",\"namespace\":" \
          "\"default\",\"name\":\"job-1\",\"delaySeconds\":600}")

/* Creates a new instance, which lists all objects like a restarted controller.
 */
static void
restart(void)
{
    dependencies_free(dependencies);
    object_cache_free(cache);
    cache = object_cache_new(fake_client_client(api));
    dependencies = dependencies_new(&(struct dependencies_settings){fake_client_client(api), cache,
                                                                    &now.clock, count_woken, NULL});
    object_cache_listen(cache, &job_kind, on_job, NULL);
    object_cache_start(cache);
    fake_client_run(api);
    dependencies_start(dependencies);
}

START_TEST(minutes_after_a_job_that_is_gone_go_on_over_a_restart)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char began[TIME_TEXT_SIZE];
    struct dependency_answer answer;

    begin();
    put(1, "", RUNS);
    put(2, TEN_MINUTES_AFTER_1, "");
    fake_client_run(api);
    time_format(now.real_us, false, began);
    now.real_us += 4 * MINUTE;
    now.monotonic_us += 4 * MINUTE;
    fake_client_remove(api, &job_kind, "default", "job-1");
    fake_client_run(api);
    answer = judge("job-2");
    ck_assert_int_eq(answer.wake_after_us, 6 * MINUTE);
    ck_assert_ptr_nonnull(answer.ended);

    put(2, TEN_MINUTES_AFTER_1,
        arena_printf(arena,
                     "\"dependencies\":{\"ended\":[{\"uid\":\"u1\","
                     "\"state\":\"Cancelled\",\"startTime\":\"%s\"}]}",
                     began));
    fake_client_run(api);
    now.real_us += MINUTE;
    now.monotonic_us = 17;
    restart();
    answer = judge("job-2");
    ck_assert_int_eq(answer.verdict, DEPENDENCY_WAITS);
    ck_assert_int_eq(answer.wake_after_us, 5 * MINUTE);

    now.monotonic_us += 5 * MINUTE;
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

START_TEST(minutes_after_a_job_that_was_gone_before_count_from_its_start)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char began[TIME_TEXT_SIZE];

    for (int i = 0; i < 2; i++) {
        begin();
        time_format(now.real_us - 4 * MINUTE, false, began);
        put(2,
            arena_printf(arena,
                         AFTER("{\"type\":\"after\",\"job\":1,\"uid\":\"u1\",\"namespace\":"
                               "\"default\",\"name\":\"job-1\",\"delaySeconds\":600,"
                               "\"ended\":\"Completed\"%s}"),
                         i == 0 ? arena_printf(arena, ",\"endedStartTime\":\"%s\"", began) : ""),
            "");
        fake_client_run(api);
        if (i == 0) {
            ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
            ck_assert_int_eq(judge("job-2").wake_after_us, 6 * MINUTE);
            restart();
            ck_assert_int_eq(judge("job-2").wake_after_us, 6 * MINUTE);
            now.monotonic_us += 6 * MINUTE;
        }
        /* the previous release noted no time */
        ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
        end();
    }
}
END_TEST

/* The previous release noted no time. */
START_TEST(minutes_after_a_job_of_which_no_time_is_noted_begin_anew)
{
    begin();
    put(2, TEN_MINUTES_AFTER_1,
        "\"dependencies\":{\"ended\":[{\"uid\":\"u1\",\"state\":"
        "\"Cancelled\"}]}");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").wake_after_us, 10 * MINUTE);
    end();
}
END_TEST

START_TEST(news_that_come_late_or_twice_take_nothing_back)
{
    begin();
    put(1, "", "");
    put(2, AFTER(ON("afterok", 1)), "");
    put(3, AFTER(ON("after", 1)), "");
    put(4, AFTER(ON("afternotok", 1)), "");
    put(1, "", RUNS);
    fake_client_run(api);
    put(1, "", "");
    put(1, "", COMPLETED);
    put(1, "", COMPLETED);
    put(1, "", RUNS);
    put(1, "", "");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(judge("job-4").verdict, DEPENDENCY_IS_NEVER_MET);

    fake_client_remove(api, &job_kind, "default", "job-1");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(judge("job-4").verdict, DEPENDENCY_IS_NEVER_MET);
    end();
}
END_TEST

/* The pod is reported before the status of its Job is written. */
START_TEST(a_job_that_is_deleted_after_its_pod_completed_has_completed)
{
    static const char *const statuses[] = {
        RUNS, /* with the pod */
        RUNS ",\"removedPods\":[{\"metadata\":{\"name\":\"job-1-0\"},\"status\":{\"phase\":"
             "\"Succeeded\"}}]",
    };

    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        begin();
        put(1, "\"completions\":1", statuses[i]);
        if (i == 0)
            fake_client_put(api, &pod_kind,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                            "\"job-1-0\",\"namespace\":\"default\",\"ownerReferences\":[{"
                            "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"job-1\","
                            "\"uid\":\"u1\",\"controller\":true}]},\"spec\":{\"containers\":[{"
                            "\"name\":\"main\"}]},\"status\":{\"phase\":\"Succeeded\"}}");
        put(2, AFTER(ON("afterok", 1)), "");
        put(3, AFTER(ON("afternotok", 1)), "");
        fake_client_run(api);
        ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
        fake_client_remove(api, &job_kind, "default", "job-1");
        fake_client_run(api);
        ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
        ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_NEVER_MET);
        end();
    }
}
END_TEST

/* A list has "job-10" before "job-9". */
START_TEST(a_waiter_that_is_listed_before_its_job_waits_for_it)
{
    begin();
    put(9, "", RUNS);
    put(10, AFTER(ON("afterok", 9)), "");
    restart();
    fake_client_run(api);
    ck_assert_int_eq(judge("job-10").verdict, DEPENDENCY_WAITS);
    put(9, "", COMPLETED);
    fake_client_run(api);
    ck_assert_int_eq(judge("job-10").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

START_TEST(one_of_two_is_enough_and_neither_is_never)
{
    begin();
    put(1, "", RUNS);
    put(2, "", RUNS);
    put(3,
        "\"dependencies\":{\"require\":\"Any\",\"jobs\":[" ON("afterok", 1) "," ON("afterok",
                                                                                   2) "]}",
        "");
    fake_client_run(api);
    put(1, "", FAILED);
    fake_client_run(api);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_WAITS);
    put(2, "", FAILED);
    fake_client_run(api);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_NEVER_MET);
    end();
}
END_TEST

START_TEST(a_job_that_was_removed_is_noted_by_those_who_wait)
{
    struct dependency_answer answer;

    begin();
    put(1, "", COMPLETED);
    put(2, "", RUNS);
    put(3, AFTER(ON("afterok", 1) "," ON("afterok", 2)), "");
    fake_client_run(api);
    ck_assert_ptr_null(judge("job-3").ended);
    n_woken = 0;

    fake_client_remove(api, &job_kind, "default", "job-1");
    fake_client_run(api);
    ck_assert_uint_eq(n_woken, 1);
    answer = judge("job-3");
    ck_assert_int_eq(answer.verdict, DEPENDENCY_WAITS);
    ck_assert_ptr_nonnull(answer.ended);

    put(3, AFTER(ON("afterok", 1) "," ON("afterok", 2)),
        "\"dependencies\":{\"ended\":[{\"uid\":\"u1\",\"state\":"
        "\"Completed\"}]}");
    fake_client_run(api);
    ck_assert_ptr_null(judge("job-3").ended);
    put(2, "", COMPLETED);
    fake_client_run(api);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

START_TEST(a_job_of_the_same_name_that_came_later_is_not_meant)
{
    begin();
    put(2, AFTER(ON("afterok", 1)), "");
    fake_client_put(api, &job_kind,
                    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
                    "\"name\":\"job-1\",\"namespace\":\"default\",\"uid\":\"another\"},"
                    "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":"
                    "\"main\"}]}}},\"status\":{\"id\":1," COMPLETED "}}");
    fake_client_run(api);
    ck_assert_int_ne(judge("job-2").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

START_TEST(singletons_go_by_their_number)
{
    begin();
    fake_client_put(
        api, &job_kind,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
        "\"name\":\"job-9\",\"namespace\":\"default\",\"uid\":\"u9\","
        "\"annotations\":{\"kiln.hpc/job-name\":\"job-8\"}},\"spec\":{" AFTER(
            "{\"type\":\"singleton\"}") ",\"template\":{\"spec\":{"
                                        "\"containers\":[{\"name\":\"main\"}]}}},\"status\":{\"id\":9}}");
    put(8, AFTER("{\"type\":\"singleton\"}"), "");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-8").verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(judge("job-9").verdict, DEPENDENCY_WAITS);
    n_woken = 0;

    put(8, AFTER("{\"type\":\"singleton\"}"), FAILED);
    fake_client_run(api);
    ck_assert_uint_ge(n_woken, 1);
    ck_assert_int_eq(judge("job-9").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

#define NAMED_FORMAT                                                            \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"     \
    "\"job-%u\",\"namespace\":\"default\",\"uid\":\"u%u\",\"annotations\":{"    \
    "\"kiln.hpc/job-name\":\"same\"}},\"spec\":{" AFTER(                        \
        "{\"type\":\"singleton\"}") ",\"template\":{\"spec\":{\"containers\":[" \
                                    "{\"name\":\"main\"}]}}},\"status\":{"      \
                                    "\"id\":%u}}"
#define NAMED(id, status)                                                       \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"     \
    "\"job-" #id "\",\"namespace\":\"default\",\"uid\":\"u" #id                 \
    "\",\"annotations\":{\"kiln.hpc/job-name\":\"same\"}},\"spec\":{" AFTER(    \
        "{\"type\":\"singleton\"}") ",\"template\":{\"spec\":{\"containers\":[" \
                                    "{\"name\":\"main\"}]}}},\"status\":{"      \
                                    "\"id\":" #id status "}}"

/* Jobs are visited in a different order each time. */
START_TEST(singletons_are_in_order_however_they_are_found)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    begin();
    for (unsigned id = 7; id < 27; id++)
        fake_client_put(api, &job_kind, arena_printf(arena, NAMED_FORMAT, id, id, id));
    for (unsigned round = 0; round < 20; round++) {
        restart();
        for (unsigned id = 8; id < 27; id++)
            ck_assert_int_eq(judge(arena_printf(arena, "job-%u", id)).verdict, DEPENDENCY_WAITS);
        ck_assert_int_eq(judge("job-7").verdict, DEPENDENCY_IS_MET);
    }
    end();
}
END_TEST

START_TEST(singletons_keep_their_order_over_a_restart)
{
    begin();
    fake_client_put(api, &job_kind, NAMED(7, "," RUNS));
    fake_client_put(api, &job_kind, NAMED(8, ""));
    fake_client_put(api, &job_kind, NAMED(9, ""));
    fake_client_run(api);
    ck_assert_int_eq(judge("job-8").verdict, DEPENDENCY_WAITS);

    restart();
    ck_assert_int_eq(judge("job-9").verdict, DEPENDENCY_WAITS);
    ck_assert_int_eq(judge("job-8").verdict, DEPENDENCY_WAITS);
    fake_client_put(api, &job_kind, NAMED(8, "," FAILED));
    fake_client_put(api, &job_kind, NAMED(8, "," FAILED));
    fake_client_run(api);
    ck_assert_int_eq(judge("job-9").verdict, DEPENDENCY_WAITS);
    restart();
    ck_assert_int_eq(judge("job-9").verdict, DEPENDENCY_WAITS);
    fake_client_remove(api, &job_kind, "default", "job-7");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-9").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

#define ARRAY "\"array\":{\"tasks\":\"0-3\"},\"completions\":4"

START_TEST(an_array_that_ended_badly_before_frees_no_task)
{
    int64_t wake_after_us;

    begin();
    put(1, ARRAY, FAILED);
    put(2, ARRAY, FAILED);
    put(3, ARRAY "," AFTER(ON("aftercorr", 1) "," ON("aftercorr", 2)), "");
    fake_client_run(api);
    ck_assert_int_ne(judge("job-3").verdict, DEPENDENCY_IS_MET);
    ck_assert_ptr_nonnull(dependencies_gate(
        dependencies, fake_client_find(api, &job_kind, "default", "job-3"), &wake_after_us));
    fake_client_run(api);
    end();
}
END_TEST

#define ON_TASKS(type, id, list)                                                    \
    "{\"type\":\"" type "\",\"job\":" #id ",\"tasks\":\"" list "\",\"uid\":\"u" #id \
    "\",\"namespace\":\"default\",\"name\":\"job-" #id "\"}"

START_TEST(the_end_of_a_task_wakes_those_who_wait_for_it)
{
    begin();
    put(1, ARRAY, RUNS);
    put(2, AFTER(ON_TASKS("afterok", 1, "2")), "");
    put(3, AFTER(ON_TASKS("afterok", 1, "3")), "");
    put(4, AFTER(ON_TASKS("afternotok", 1, "2-3")), "");
    fake_client_run(api);
    n_woken = 0;

    dependencies_see_element(dependencies, "u1", 2, ELEMENT_DONE);
    ck_assert_uint_eq(n_woken, 1);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
    ck_assert_int_eq(judge("job-4").verdict, DEPENDENCY_WAITS);
    dependencies_see_element(dependencies, "u1", 3, ELEMENT_CANCELLED);
    ck_assert_uint_eq(n_woken, 3);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_NEVER_MET);
    ck_assert_str_eq(judge("job-3").message, "afterok:1_3 can never be met: job 1_3 has ended as "
                                             "Cancelled");
    ck_assert_int_eq(judge("job-4").verdict, DEPENDENCY_IS_MET);
    fake_client_run(api);
    end();
}
END_TEST

START_TEST(a_held_job_waits_for_a_failed_task_that_may_run_again)
{
    begin();
    put(1, ARRAY, RUNS);
    put(2, AFTER(ON_TASKS("afterok", 1, "2")) ",\"suspend\":true", "");
    put(3, AFTER(ON_TASKS("afterok", 1, "1-2")) ",\"suspend\":true", "");
    fake_client_run(api);
    dependencies_see_element(dependencies, "u1", 2, ELEMENT_FAILED);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
    put(2, AFTER(ON_TASKS("afterok", 1, "2")), "");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_NEVER_MET);

    dependencies_see_element(dependencies, "u1", 2, ELEMENT_WAITING);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_WAITS);
    n_woken = 0;
    dependencies_see_element(dependencies, "u1", 2, ELEMENT_DONE);
    ck_assert_uint_eq(n_woken, 1);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);

    dependencies_see_element(dependencies, "u1", 1, ELEMENT_FAILED);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_WAITS);
    put(1, ARRAY, FAILED);
    fake_client_run(api);
    ck_assert_int_eq(judge("job-3").verdict, DEPENDENCY_IS_NEVER_MET);
    end();
}
END_TEST

START_TEST(tasks_of_an_array_that_was_removed_are_noted_by_their_list)
{
    struct dependency_answer answer;

    begin();
    put(1, ARRAY, RUNS);
    put(2, AFTER(ON_TASKS("afterany", 1, "1-2") "," ON("after", 5)), "");
    put(5, "", "");
    fake_client_run(api);
    fake_client_remove(api, &job_kind, "default", "job-1");
    fake_client_run(api);
    answer = judge("job-2");
    ck_assert_int_eq(answer.verdict, DEPENDENCY_WAITS);

    put(2, AFTER(ON_TASKS("afterok", 1, "1-2")),
        "\"dependencies\":{\"ended\":[{\"uid\":\"u1\",\"state\":\"Failed\"},"
        "{\"uid\":\"u1\",\"tasks\":\"1-2\",\"state\":\"Completed\"}]}");
    fake_client_run(api);
    ck_assert_int_eq(judge("job-2").verdict, DEPENDENCY_IS_MET);
    end();
}
END_TEST

SUITE("dependencies", the_end_of_a_task_wakes_those_who_wait_for_it,
      a_held_job_waits_for_a_failed_task_that_may_run_again,
      tasks_of_an_array_that_was_removed_are_noted_by_their_list,
      an_array_that_ended_badly_before_frees_no_task, an_end_decides_once_for_all_that_wait,
      ten_thousand_are_woken_by_the_end_that_decides_and_by_no_other,
      minutes_pass_though_the_clock_is_set, minutes_after_a_job_that_is_gone_go_on_over_a_restart,
      a_job_that_is_deleted_after_its_pod_completed_has_completed,
      minutes_after_a_job_of_which_no_time_is_noted_begin_anew,
      minutes_after_a_job_that_was_gone_before_count_from_its_start,
      news_that_come_late_or_twice_take_nothing_back,
      a_waiter_that_is_listed_before_its_job_waits_for_it,
      singletons_are_in_order_however_they_are_found, singletons_keep_their_order_over_a_restart,
      one_of_two_is_enough_and_neither_is_never, a_job_that_was_removed_is_noted_by_those_who_wait,
      a_job_of_the_same_name_that_came_later_is_not_meant, singletons_go_by_their_number)
