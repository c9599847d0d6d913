/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/blobs.h"

#include <errno.h>

#include "lib/auth/digest.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

#define SCRIPT "#!/bin/sh\n"

/* A controller that accepts one request and answers when the test tells it to.
 */
static struct {
    struct client client;
    struct client_call call;
    client_done_fn *done;
    void *context;
    unsigned asked;
    unsigned cancelled;
} controller;

static struct client_call *
ask(struct client *client, struct arena *arena, const struct client_request *request,
    client_done_fn *done, void *context)
{
    (void)arena;
    ck_assert_str_eq(request->name, "job-7");
    controller.call.client = client;
    controller.done = done;
    controller.context = context;
    controller.asked++;
    if (controller.asked > 1)
        loop_stop(client->loop);
    return &controller.call;
}

static void
cancel(struct client_call *call)
{
    (void)call;
    controller.cancelled++;
}

static void
answer(const char *text)
{
    controller.done(&(struct client_reply){.code = 200, .text = text, .length = strlen(text)},
                    controller.context);
}

static void
no_answer(int code)
{
    struct error err = {.code = -ECONNRESET, .text = "connection reset"};

    controller.done(&(struct client_reply){.code = code, .error = code == 0 ? &err : NULL},
                    controller.context);
}

static struct {
    const struct blob *blob;
    unsigned calls;
    int code;
} got;

static void
on_got(const struct blob *blob, const struct error *err, void *context)
{
    (void)context;
    got.blob = blob;
    got.calls++;
    got.code = blob == NULL ? err->code : 0;
}

static struct blobs *
begin(void)
{
    static const struct client_ops ops = {.call = ask, .cancel = cancel};

    memset(&controller, 0, sizeof(controller));
    memset(&got, 0, sizeof(got));
    controller.client.ops = &ops;
    controller.client.loop = loop_new();
    return blobs_new(&controller.client);
}

static void
end(struct blobs *blobs)
{
    blobs_free(blobs);
    loop_free(controller.client.loop);
}

static void
get(struct blobs *blobs, const char *text)
{
    char name[DIGEST_HEX_SIZE + 7] = "sha256:";
    struct digest d;

    digest_of(text, strlen(text), &d);
    digest_format(&d, name + 7);
    blobs_get(blobs, "physics", "job-7", "script", name, on_got, NULL);
}

START_TEST(content_is_fetched_once)
{
    struct blobs *blobs = begin();
    const struct blob *first;

    get(blobs, SCRIPT);
    answer(SCRIPT);
    first = got.blob;
    ck_assert_ptr_nonnull(first);
    get(blobs, SCRIPT);

    ck_assert_ptr_eq(got.blob, first);
    ck_assert_uint_eq(controller.asked, 1);
    ck_assert_mem_eq(blob_bytes(first), SCRIPT, blob_length(first));
    blob_release(first);
    blob_release(first);
    end(blobs);
}
END_TEST

START_TEST(content_that_is_not_what_its_name_says_is_refused)
{
    struct blobs *blobs = begin();

    get(blobs, SCRIPT);
    answer("#!/bin/evil\n");

    ck_assert_ptr_null(got.blob);
    ck_assert_int_eq(got.code, -EBADMSG);
    end(blobs);
}
END_TEST

START_TEST(a_waiting_pod_is_answered_when_the_blobs_are_freed)
{
    struct blobs *blobs = begin();

    get(blobs, SCRIPT);
    ck_assert_uint_eq(got.calls, 0);
    end(blobs);

    ck_assert_uint_eq(controller.cancelled, 1);
    ck_assert_uint_eq(got.calls, 1);
    ck_assert_ptr_null(got.blob);
    ck_assert_int_eq(got.code, -ECANCELED);
}
END_TEST

/* A worker may be starting a pod with the blob. */
START_TEST(one_that_is_used_when_they_are_freed_stays_for_its_user)
{
    struct blobs *blobs = begin();

    get(blobs, SCRIPT);
    answer(SCRIPT);
    end(blobs);

    ck_assert_mem_eq(blob_bytes(got.blob), SCRIPT, blob_length(got.blob));
    blob_release(got.blob);
}
END_TEST

/* A restarting controller resets the connection, then refuses it, then is not
 * ready, then does not know the session.
 */
START_TEST(a_controller_that_does_not_answer_is_asked_until_it_does)
{
    static const int codes[] = {0, 503, 401};
    struct blobs *blobs = begin();

    get(blobs, SCRIPT);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        no_answer(codes[i]);
        ck_assert_uint_eq(got.calls, 0);
        loop_run(controller.client.loop);
        ck_assert_uint_eq(controller.asked, i + 2);
    }
    answer(SCRIPT);

    ck_assert_uint_eq(got.calls, 1);
    ck_assert_ptr_nonnull(got.blob);
    blob_release(got.blob);
    end(blobs);
}
END_TEST

START_TEST(a_refused_request_is_not_repeated)
{
    static const int codes[] = {403, 404, 410};
    struct blobs *blobs = begin();

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        get(blobs, SCRIPT);
        no_answer(codes[i]);
        ck_assert_uint_eq(got.calls, i + 1);
        ck_assert_ptr_null(got.blob);
    }
    ck_assert_uint_eq(controller.asked, 3);
    end(blobs);
}
END_TEST

START_TEST(a_pod_that_waits_to_ask_again_is_answered_when_the_blobs_are_freed)
{
    struct blobs *blobs = begin();

    get(blobs, SCRIPT);
    no_answer(0);
    end(blobs);

    ck_assert_uint_eq(controller.cancelled, 0);
    ck_assert_uint_eq(got.calls, 1);
    ck_assert_int_eq(got.code, -ECANCELED);
}
END_TEST

SUITE("blobs", a_controller_that_does_not_answer_is_asked_until_it_does,
      a_refused_request_is_not_repeated,
      a_pod_that_waits_to_ask_again_is_answered_when_the_blobs_are_freed, content_is_fetched_once,
      content_that_is_not_what_its_name_says_is_refused,
      a_waiting_pod_is_answered_when_the_blobs_are_freed,
      one_that_is_used_when_they_are_freed_stays_for_its_user)
