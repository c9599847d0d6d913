/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/status.h"

#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

START_TEST(a_status_is_written_as_clients_expect_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct status_cause cause = {"FieldValueRequired", "Required value", "a"};
    struct status status = {
        .status = "Failure",
        .message = "no",
        .reason = "Invalid",
        .details = {.name = "x", .kind = "pods", .causes = {&cause, 1}},
        .code = 422,
    };

    ck_assert_str_eq(printed(arena, record_encode(&status_record, arena, &status)),
                     "{'status':'Failure','message':'no','reason':'Invalid','details':"
                     "{'name':'x','kind':'pods','causes':[{'reason':'FieldValueRequired',"
                     "'message':'Required value','field':'a'}]},'code':422}");
}
END_TEST

START_TEST(a_status_is_read)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = tree(arena, "{'kind':'Status','metadata':{},'status':'Failure','code':429,"
                                 "'details':{'retryAfterSeconds':10}}");
    struct status status = {0};

    record_decode(&status_record, arena, v, &status);

    ck_assert_int_eq(status.code, 429);
    ck_assert_int_eq(status.details.retry_after_s, 10);
    ck_assert_ptr_null(status.reason);
}
END_TEST

START_TEST(a_message_for_people_has_no_resource_of_the_api)
{
    static const char *const cases[][2] = {
        {"jobs.batch \"job-7\" is forbidden: only operators can", "job 7: only operators can"},
        {"jobs.batch is forbidden: Partition: there is none", "Partition: there is none"},
        {"jobs.batch \"job-7x\" not found", "job job-7x not found"},
        {"cronjobs.batch \"nightly\" already exists", "cronjob nightly already exists"},
        {"nodes \"n1\" is forbidden: no", "node n1: no"},
        {"reservations.kiln.hpc is forbidden: no", "no"},
        {"Operation cannot be fulfilled on jobs.batch \"job-7\": it was modified",
         "job 7: it was modified"},
        {"Job.batch \"job-7\" is invalid: spec.x: wrong", "job 7 is invalid: spec.x: wrong"},
        {"Job.batch \"\" is invalid: spec.x: wrong", "is invalid: spec.x: wrong"},
        {"Error creating: pods \"job-7-0\" is forbidden: exceeded quota: q",
         "Error creating: pod job-7-0: exceeded quota: q"},
        {"Error creating job: jobs.batch is forbidden: no", "Error creating job: no"},
        /* These are unchanged. */
        {"a: b: jobs.batch is forbidden: no", "a: b: jobs.batch is forbidden: no"},
        {"spec.x: wrong", "spec.x: wrong"},
        {"jobs of root are refused", "jobs of root are refused"},
        {"jobs.batch", "jobs.batch"},
        {"jobs.batch \"job-7", "jobs.batch \"job-7"},
        {"things.batch \"x\" is forbidden: no", "things.batch \"x\" is forbidden: no"},
        {"user 'a' cannot impersonate users", "user 'a' cannot impersonate users"},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        strbuf_add_text(&out, "kctl: ");
        status_add_plain_message(cases[i][0], &out);
        ck_assert_str_eq(out.text + strlen("kctl: "), cases[i][1]);
    }
}
END_TEST

SUITE("status", a_message_for_people_has_no_resource_of_the_api,
      a_status_is_written_as_clients_expect_it, a_status_is_read)
