/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/status.h"

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

SUITE("status", a_status_is_written_as_clients_expect_it, a_status_is_read)
