/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_dependency.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

START_TEST(a_list_is_read_as_slurms_users_write_it)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"afterok:1041", "{\"jobs\":[{\"type\":\"afterok\",\"job\":1041}]}"},
        {"afterok:1:2,singleton",
         "{\"jobs\":[{\"type\":\"afterok\",\"job\":1},{\"type\":\"afterok\","
         "\"job\":2},{\"type\":\"singleton\"}]}"},
        {"after:7+10", "{\"jobs\":[{\"type\":\"after\",\"job\":7,\"delaySeconds\":600}]}"},
        {"afterok:1042_3:7,after:1042_[9-12,3,4-5]+1",
         "{\"jobs\":[{\"type\":\"afterok\",\"job\":1042,\"tasks\":\"3\"},"
         "{\"type\":\"afterok\",\"job\":7},{\"type\":\"after\",\"job\":1042,"
         "\"tasks\":\"3-5,9-12\",\"delaySeconds\":60}]}"},
        {"afterany:1_[0-9:3]?afternotok:1_0",
         "{\"require\":\"Any\",\"jobs\":[{\"type\":\"afterany\",\"job\":1,"
         "\"tasks\":\"0-9:3\"},{\"type\":\"afternotok\",\"job\":1,"
         "\"tasks\":\"0\"}]}"},
        {"AfterOK:1042_*", "{\"jobs\":[{\"type\":\"afterok\",\"job\":1042}]}"},
        {"1041,afterburstbuffer:7",
         "{\"jobs\":[{\"type\":\"afterany\",\"job\":1041},{\"type\":\"afterany\",\"job\":7}]}"},
        {"afterany:1?afternotok:2",
         "{\"require\":\"Any\",\"jobs\":[{\"type\":\"afterany\",\"job\":1},"
         "{\"type\":\"afternotok\",\"job\":2}]}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        struct json *parsed = NULL;

        ck_assert_int_eq(job_dependency_parse(cases[i].text, arena, &parsed, NULL), 0);
        json_print(parsed, &text);
        ck_assert_str_eq(text.text, cases[i].json);
    }
}
END_TEST

START_TEST(a_mistake_is_told_with_what_to_write)
{
    static const struct {
        const char *text, *words;
        int code;
    } cases[] = {
        {"afterok", "a job id is required, such as afterok:1041", -EINVAL},
        {"afterok:", "is not a job id", -EINVAL},
        {"afterok:0", "is not a job id", -EINVAL},
        {"afterok:x", "'x' is not a job id", -EINVAL},
        {"afterok:1 ", "is not a job id", -EINVAL},
        {"afterok:99999999999999999999", "is not a job id", -EINVAL},
        {"afterok:1,", "a dependency is missing", -EINVAL},
        {"later:1", "'later' is not a dependency", -EINVAL},
        {"afterok:1+5", "only after takes minutes", -EINVAL},
        {"after:1+", "expected minutes", -EINVAL},
        {"after:1+99999999999", "expected minutes", -EINVAL},
        {"singleton:3", "singleton takes no job id", -EINVAL},
        {"afterok:1,afterok:2?afterok:3", "for all (,) or for any (?)", -EINVAL},
        {"afterok:1_", "such as afterok:1_3 or afterok:1_[3-9]", -EINVAL},
        {"afterok:1_[]", "such as afterok:1_3", -EINVAL},
        {"afterok:1_[", "such as afterok:1_3", -EINVAL},
        {"afterok:1_[3", "such as afterok:1_3", -EINVAL},
        {"afterok:1_[9-3]", "such as afterok:1_3", -EINVAL},
        {"afterok:1_3-9", "is not a job id", -EINVAL},
        {"afterok:1_x", "such as afterok:1_3", -EINVAL},
        {"aftercorr:1_3", "use afterok:1_3 to wait for these", -EINVAL},
        {"expand:1", "cannot change its size", -EOPNOTSUPP},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *parsed;
        struct error err = {0};

        ck_assert_int_eq(job_dependency_parse(cases[i].text, arena, &parsed, &err), cases[i].code);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s: %s", cases[i].text, err.text);
    }
}
END_TEST

START_TEST(tasks_are_written_as_they_are_read)
{
    static const struct {
        struct job_dependency dependency;
        const char *text;
    } cases[] = {
        {{.type = "afterok", .job = 7}, "afterok:7"},
        {{.type = "afterok", .job = 7, .tasks = "3"}, "afterok:7_3"},
        {{.type = "after", .job = 7, .tasks = "3-9", .delay_s = 60}, "after:7_[3-9]+1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        job_dependency_format(&cases[i].dependency, &text);
        ck_assert_str_eq(text.text, cases[i].text);
    }
}
END_TEST

START_TEST(more_than_a_job_can_wait_for_are_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *parsed;
    struct error err = {0};

    strbuf_add_text(&text, "afterok");
    for (unsigned i = 1; i <= JOB_DEPENDENCIES_MOST; i++)
        strbuf_printf(&text, ":%u", i);
    ck_assert_int_eq(job_dependency_parse(text.text, arena, &parsed, &err), 0);
    strbuf_add_text(&text, ",singleton");
    ck_assert_int_eq(job_dependency_parse(text.text, arena, &parsed, &err), -E2BIG);
}
END_TEST

START_TEST(an_end_decides)
{
    static const struct {
        enum job_dependency_type type;
        enum job_state state;
        enum job_dependency_verdict verdict;
    } cases[] = {
        {DEPENDENCY_OK, JOB_STATE_COMPLETED, DEPENDENCY_IS_MET},
        {DEPENDENCY_OK, JOB_STATE_CANCELLED, DEPENDENCY_IS_NEVER_MET},
        {DEPENDENCY_NOT_OK, JOB_STATE_COMPLETED, DEPENDENCY_IS_NEVER_MET},
        {DEPENDENCY_NOT_OK, JOB_STATE_TIMED_OUT, DEPENDENCY_IS_MET},
        {DEPENDENCY_ANY, JOB_STATE_FAILED, DEPENDENCY_IS_MET},
        {DEPENDENCY_AFTER, JOB_STATE_CANCELLED, DEPENDENCY_IS_MET},
        {DEPENDENCY_CORR, JOB_STATE_FAILED, DEPENDENCY_IS_NEVER_MET},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_int_eq(job_dependency_judge_end(cases[i].type, cases[i].state), cases[i].verdict);
}
END_TEST

SUITE("job_dependency", a_list_is_read_as_slurms_users_write_it,
      a_mistake_is_told_with_what_to_write, tasks_are_written_as_they_are_read,
      more_than_a_job_can_wait_for_are_refused, an_end_decides)
