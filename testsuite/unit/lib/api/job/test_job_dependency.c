/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_dependency.h"

#include <check.h>
#include <errno.h>
#include <string.h>

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
        {"after:7+10",
         "{\"jobs\":[{\"type\":\"after\",\"job\":7,\"delaySeconds\":600}]}"},
        {"afterany:1?afternotok:2",
         "{\"require\":\"Any\",\"jobs\":[{\"type\":\"afterany\",\"job\":1},"
         "{\"type\":\"afternotok\",\"job\":2}]}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        struct json *parsed = NULL;

        ck_assert_int_eq(
            job_dependency_parse(cases[i].text, arena, &parsed, NULL),
            0);
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
        {"afterok", "a job is missing, such as afterok:1041", -EINVAL},
        {"afterok:", "is not the number of a job", -EINVAL},
        {"afterok:0", "is not the number of a job", -EINVAL},
        {"afterok:x", "'x' is not the number of a job", -EINVAL},
        {"afterok:1 ", "is not the number of a job", -EINVAL},
        {"afterok:99999999999999999999", "is not the number", -EINVAL},
        {"afterok:1,", "is no dependency", -EINVAL},
        {"later:1", "'later' is no dependency", -EINVAL},
        {"afterok:1+5", "minutes go with after alone", -EINVAL},
        {"after:1+", "minutes are expected", -EINVAL},
        {"after:1+99999999999", "minutes are expected", -EINVAL},
        {"singleton:3", "singleton names no job", -EINVAL},
        {"afterok:1,afterok:2?afterok:3",
         "for all (,) or for any (?)",
         -EINVAL},
        {"afterok:1_3", "for all tasks of an array", -EOPNOTSUPP},
        {"afterburstbuffer:1", "there are no burst buffers", -EOPNOTSUPP},
        {"expand:1", "keeps the size", -EOPNOTSUPP},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *parsed;
        struct error err = {0};

        ck_assert_int_eq(
            job_dependency_parse(cases[i].text, arena, &parsed, &err),
            cases[i].code);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL,
                      "%s: %s",
                      cases[i].text,
                      err.text);
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
    ck_assert_int_eq(job_dependency_parse(text.text, arena, &parsed, &err),
                     -E2BIG);
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
        ck_assert_int_eq(
            job_dependency_judge_end(cases[i].type, cases[i].state),
            cases[i].verdict);
}
END_TEST

SUITE("job_dependency",
      a_list_is_read_as_slurms_users_write_it,
      a_mistake_is_told_with_what_to_write,
      more_than_a_job_can_wait_for_are_refused,
      an_end_decides)
