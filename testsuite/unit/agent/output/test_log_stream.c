/* SPDX-License-Identifier: Apache-2.0 */
/* The calls to the controller are the test's own: __wrap_http_client_call.
 */
#include "agent/output/log_stream.h"

#include <check.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/http/http_client.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"

static struct http_client_request posted;
static unsigned n_posted, n_over;

struct http_call *__wrap_http_client_call(struct http_client *client,
                                          const struct http_client_request *request);
struct http_call *
__wrap_http_client_call(UNUSED struct http_client *client,
                        const struct http_client_request *request)
{
    posted = *request;
    n_posted++;
    return (struct http_call *)&posted;
}

static void
over(UNUSED struct log_stream *stream, void *context)
{
    n_over++;
    loop_stop(context);
}

static void
stop(void *arg)
{
    loop_stop(arg);
}

static struct log_stream *
refuse_one(struct loop *loop)
{
    struct log_stream_settings settings = {
        .loop = loop,
        .node = "n1",
        .program = "kiln-output",
        .over = over,
        .context = loop,
    };
    struct log_stream_wish wish = {
        .id = "7",
        .status = 404,
        .refusal = "the pod is no longer on this node",
    };

    n_posted = n_over = 0;
    return log_stream_new(&settings, &wish);
}

START_TEST(a_stream_that_was_answered_is_over)
{
    struct loop *loop = loop_new();
    struct log_stream *stream = refuse_one(loop);

    ck_assert_uint_eq(n_posted, 1);
    posted.done(NULL, NULL, posted.arg);
    ck_assert_uint_eq(n_over, 0);
    loop_run(loop);
    ck_assert_uint_eq(n_over, 1);
    log_stream_free(stream);
    loop_free(loop);
}
END_TEST

/* The reader goes: the answer to the post says so, and in the same turn of the loop
 * the controller asks to stop.
 */
START_TEST(a_stream_that_is_freed_when_it_is_over_is_not_told)
{
    struct loop *loop = loop_new();
    struct log_stream *stream = refuse_one(loop);
    struct timer *timer = timer_new(loop, stop, loop);

    posted.done(NULL, NULL, posted.arg);
    log_stream_free(stream);
    loop_drain(loop);
    timer_start(timer, 20);
    loop_run(loop);
    ck_assert_uint_eq(n_over, 0);
    timer_free(timer);
    loop_free(loop);
}
END_TEST

SUITE("log_stream", a_stream_that_was_answered_is_over,
      a_stream_that_is_freed_when_it_is_over_is_not_told)
