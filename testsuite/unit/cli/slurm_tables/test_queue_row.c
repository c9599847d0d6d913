/* SPDX-License-Identifier: Apache-2.0 */
/* Expected texts are what Debian's Slurm 22.05 printed. */
#include "cli/slurm_tables/queue_row.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

START_TEST(an_id_names_the_waiting_tasks_of_an_array)
{
    static const struct {
        const char *tasks;
        int64_t task, throttle;
        const char *text;
    } cases[] = {
        {NULL, -1, 0, "2"},
        {NULL, 3, 0, "2_3"},
        {"5-9:2", -1, 2, "2_[5,7,9%2]"},
        {"1-2,5-6,8", -1, 0, "2_[1-2,5-6,8]"},
        {"1-199:2", -1, 3, "2_[1-199:2%3]"},
        {"0-10:2", -1, 0, "2_[0,2,4,6,8,10]"},
        {"1-11:2,40", -1, 0, "2_[1,3,5,7,9,11,40]"},
        {"1,12", -1, 0, "2_[1,12]"},
        {"4", -1, 0, "2_[4]"},
    };

    unsetenv("SLURM_BITSTR_LEN");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct queue_row row = {
            .id = 2, .tasks = cases[i].tasks, .task = cases[i].task, .throttle = cases[i].throttle};

        queue_row_add_id(&row, &out);
        ck_assert_str_eq(out.text, cases[i].text);
    }
}
END_TEST

START_TEST(a_long_list_of_tasks_is_cut_unless_the_environment_says_otherwise)
{
    const struct queue_row row = {.id = 2,
                                  .task = -1,
                                  .tasks = "1,4,9,16,25,36,49,64,81,100,121,"
                                           "144,169,196,225,256,289,324,361,400,441"};
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    unsetenv("SLURM_BITSTR_LEN");
    queue_row_add_tasks(&row, &out);
    ck_assert_uint_le(out.length, 64);
    ck_assert_str_eq(out.text + out.length - 3, "...");
    strbuf_truncate(&out, 0);
    setenv("SLURM_BITSTR_LEN", "0", 1);
    queue_row_add_tasks(&row, &out);
    ck_assert_str_eq(out.text, row.tasks);
    unsetenv("SLURM_BITSTR_LEN");
}
END_TEST

START_TEST(the_last_field_is_a_reason_or_the_nodes)
{
    static const struct {
        enum job_state state;
        const char *text;
    } cases[] = {
        {JOB_STATE_PENDING, "(why)"},       {JOB_STATE_HELD, "(why)"},
        {JOB_STATE_RUNNING, "n1"},          {JOB_STATE_ENDING, "n1"},
        {JOB_STATE_COMPLETED, "n1"},        {JOB_STATE_CANCELLED, "n1"},
        {JOB_STATE_FAILED, "(why)"},        {JOB_STATE_TIMED_OUT, "(why)"},
        {JOB_STATE_OUT_OF_MEMORY, "(why)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct queue_row row = {.state = cases[i].state, .node = "n1", .reason = "why"};

        queue_row_add_reason_or_nodes(&row, &out);
        ck_assert_str_eq(out.text, cases[i].text);
    }
}
END_TEST

START_TEST(dependencies_are_written_as_they_were_given)
{
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"{\"spec\":{}}", "(null)"},
        {"{\"spec\":{\"dependencies\":{\"jobs\":[{\"type\":\"afterok\",\"job\":1}]}}}",
         "afterok:1(unfulfilled)"},
        {"{\"spec\":{\"dependencies\":{\"require\":\"Any\",\"jobs\":["
         "{\"type\":\"afterok\",\"job\":1},"
         "{\"type\":\"afterany\",\"job\":2,\"tasks\":\"3\"},"
         "{\"type\":\"after\",\"job\":4,\"delaySeconds\":600}]}}}",
         "afterok:1(unfulfilled)?afterany:2_3(unfulfilled)?after:4+10(unfulfilled)"},
        {"{\"spec\":{\"dependencies\":{\"jobs\":[{\"type\":\"singleton\"}]}}}",
         "singleton(unfulfilled)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct queue_row row = {
            .state = JOB_STATE_PENDING,
            .object = json_parse(arena, cases[i].json, strlen(cases[i].json), NULL, NULL)};

        queue_row_add_dependency(&row, &out);
        ck_assert_str_eq(out.text, cases[i].text);
    }
}
END_TEST

START_TEST(only_a_held_job_has_the_priority_0)
{
    const struct queue_row waiting = {.state = JOB_STATE_PENDING, .priority = 0};
    const struct queue_row urgent = {.state = JOB_STATE_PENDING, .priority = 7};
    const struct queue_row unimportant = {.state = JOB_STATE_RUNNING, .priority = -5};
    const struct queue_row held = {.state = JOB_STATE_HELD, .priority = 7};

    ck_assert_int_eq(queue_row_priority(&waiting), 1);
    ck_assert_int_eq(queue_row_priority(&urgent), 7);
    ck_assert_int_eq(queue_row_priority(&unimportant), 1);
    ck_assert_int_eq(queue_row_priority(&held), 0);
}
END_TEST

START_TEST(a_job_starts_at_its_begin_time_at_the_earliest)
{
    static const char later[] = "{\"spec\":{\"beginTime\":\"2199-01-01T00:00:00Z\"}}";
    static const char past[] = "{\"spec\":{\"beginTime\":\"2001-01-01T00:00:00Z\"}}";
    const int64_t later_us = INT64_C(7226582400000000), past_us = INT64_C(978307200000000);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct queue_row row = {.state = JOB_STATE_HELD,
                            .reason = "JobHeldUser",
                            .limit_s = 60,
                            .object = json_parse(arena, later, strlen(later), NULL, NULL)};

    ck_assert_int_eq(queue_row_start_us(&row), later_us);
    ck_assert_int_eq(queue_row_end_us(&row), later_us + 60000000);
    ck_assert_int_eq(queue_row_eligible_us(&row), later_us);
    ck_assert_int_eq(queue_row_accrue_us(&row), 0);
    row.expected_us = later_us + 1000000; /* a forecast knows better */
    ck_assert_int_eq(queue_row_start_us(&row), later_us + 1000000);
    row.expected_us = 0;
    row.object = json_parse(arena, past, strlen(past), NULL, NULL);
    ck_assert_int_eq(queue_row_start_us(&row), 0);
    ck_assert_int_eq(queue_row_end_us(&row), 0);
    ck_assert_int_eq(queue_row_eligible_us(&row), past_us);
    row.object = NULL;
    ck_assert_int_eq(queue_row_start_us(&row), 0);
    ck_assert_int_eq(queue_row_eligible_us(&row), 0);
}
END_TEST

START_TEST(limits_count_in_whole_minutes)
{
    static const struct {
        int64_t limit_s, elapsed_s;
        const char *left;
    } cases[] = {
        {0, 5, "UNLIMITED"},
        {600, 0, "10:00"},
        {599, 1, "9:59"},
        {93784, 0, "1-02:04:00"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct queue_row row = {
            .state = JOB_STATE_RUNNING,
            .limit_s = cases[i].limit_s,
            .elapsed_s = cases[i].elapsed_s,
        };

        queue_row_add_time_left(&row, &out);
        ck_assert_str_eq(out.text, cases[i].left);
    }
}
END_TEST

START_TEST(the_wait_status_has_the_signal_or_the_code)
{
    struct queue_row row = {.state = JOB_STATE_FAILED, .task = -1, .exit_code = 3};

    ck_assert_int_eq(queue_row_wait_status(&row), 768);
    row.signal = 15;
    ck_assert_int_eq(queue_row_wait_status(&row), 15);
    row.state = JOB_STATE_RUNNING;
    ck_assert_int_eq(queue_row_wait_status(&row), 0);
}
END_TEST

START_TEST(a_job_that_waits_has_no_time_at_which_it_became_eligible_if_it_may_not_start)
{
    struct queue_row row = {.state = JOB_STATE_PENDING, .reason = "Dependency", .submit_us = 5};

    ck_assert_int_eq(queue_row_eligible_us(&row), 0);
    row.reason = "Resources";
    ck_assert_int_eq(queue_row_eligible_us(&row), 5);
    row.state = JOB_STATE_HELD;
    ck_assert_int_eq(queue_row_eligible_us(&row), 0);
}
END_TEST

SUITE("queue_row", an_id_names_the_waiting_tasks_of_an_array,
      a_long_list_of_tasks_is_cut_unless_the_environment_says_otherwise,
      the_last_field_is_a_reason_or_the_nodes, dependencies_are_written_as_they_were_given,
      only_a_held_job_has_the_priority_0, limits_count_in_whole_minutes,
      a_job_starts_at_its_begin_time_at_the_earliest, the_wait_status_has_the_signal_or_the_code,
      a_job_that_waits_has_no_time_at_which_it_became_eligible_if_it_may_not_start)
