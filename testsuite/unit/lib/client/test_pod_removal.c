/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/pod_removal.h"

#include <check.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/error.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

static struct fake_clock now;
static struct fake_client *api;
static struct pod_removal *removal;
static unsigned n_done;
static int last_code;
static int last_error;

static void
removed(const struct client_reply *reply, void *context UNUSED)
{
    struct error err = {0};

    n_done++;
    last_code = reply->code;
    last_error = pod_removal_error(reply, &err);
    removal = NULL;
}

static const struct object *
find(void)
{
    return fake_client_find(api, &pod_kind, "default", "p");
}

static const struct object *
put_pod(void)
{
    return fake_client_put(api, &pod_kind,
                           "{\"metadata\":{\"name\":\"p\",\"namespace\":"
                           "\"default\",\"finalizers\":[\"example.net/wait\"]},"
                           "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
}

static void
begin(const char *uid)
{
    removal = pod_removal_begin(fake_client_client(api), &now.clock,
                                &(struct pod_removal_order){
                                    .namespace = "default",
                                    .name = "p",
                                    .uid = uid,
                                    .reason = "PreemptionByScheduler",
                                    .message = "make room",
                                },
                                removed, NULL);
}

static void
stage_init(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    n_done = 0;
    last_code = 0;
    last_error = 0;
}

static void
stage_fini(void)
{
    fake_client_free(api);
}

START_TEST(a_pod_is_told_why_and_then_deleted)
{
    stage_init();
    begin(put_pod()->meta->uid);
    fake_client_run(api);

    ck_assert_uint_eq(fake_client_calls(api, CLIENT_STRATEGIC_PATCH, "status"), 1);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_DELETE, NULL), 1);
    ck_assert_uint_eq(n_done, 1);
    ck_assert_int_eq(last_error, 0);
    ck_assert_ptr_null(find());
    stage_fini();
}
END_TEST

START_TEST(a_pod_without_its_reason_is_not_deleted)
{
    const struct pod_condition *c;

    stage_init();
    put_pod();
    fake_client_fail(api, CLIENT_DELETE, NULL, 503, "ServiceUnavailable");
    begin(NULL);
    fake_client_run(api);
    ck_assert_int_eq(last_code, 503);
    ck_assert_int_lt(last_error, 0);
    c = pod_find_condition(pod_of(find()), "DisruptionTarget");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->reason, "PreemptionByScheduler");

    fake_client_fail(api, CLIENT_STRATEGIC_PATCH, "status", 503, "ServiceUnavailable");
    begin(NULL);
    fake_client_run(api);
    ck_assert_uint_eq(n_done, 2);
    ck_assert_int_lt(last_error, 0);
    ck_assert_ptr_nonnull(find());
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_DELETE, NULL), 1);
    stage_fini();
}
END_TEST

START_TEST(one_that_is_gone_is_no_failure)
{
    stage_init();
    begin("u1");
    fake_client_run(api);
    ck_assert_int_eq(last_code, 404);
    ck_assert_int_eq(last_error, 0);

    put_pod();
    fake_client_fail(api, CLIENT_STRATEGIC_PATCH, "status", 409, "Conflict");
    begin("u1");
    fake_client_run(api);
    ck_assert_int_eq(last_code, 409);
    ck_assert_int_eq(last_error, 0);
    ck_assert_ptr_nonnull(find());
    stage_fini();
}
END_TEST

START_TEST(after_a_cancel_nothing_more_comes)
{
    stage_init();
    put_pod();
    begin(NULL);
    pod_removal_cancel(removal);
    pod_removal_cancel(NULL);
    fake_client_run(api);

    ck_assert_uint_eq(n_done, 0);
    ck_assert_ptr_nonnull(find());
    stage_fini();
}
END_TEST

SUITE("pod removal", a_pod_is_told_why_and_then_deleted, a_pod_without_its_reason_is_not_deleted,
      one_that_is_gone_is_no_failure, after_a_cancel_nothing_more_comes)
