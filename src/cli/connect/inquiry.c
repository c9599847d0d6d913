/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/inquiry.h"

#include <errno.h>

#include "cli/connect/call_retry.h"
#include "cli/connect/connection.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/http/http_client.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

struct inquiry {
    struct loop *loop;
    struct arena *arena;
    struct json *answer;
    struct error *err;
    struct error *failure; /* of this attempt */
    int result;
    bool is_answered;
    bool is_refused; /* by an answer of the server */
    int refusal;     /* of call_retry_of_answer */

    inquiry_work_fn *work; /* NULL: all work is done */
    void *context;
    struct timer *turn;
};

static void
stop_if_done(struct inquiry *i)
{
    if (i->is_answered && i->work == NULL)
        loop_stop(i->loop);
}

static void
work_on(void *context)
{
    struct inquiry *i = context;

    if (i->work(i->context))
        timer_start(i->turn, 0);
    else
        i->work = NULL;
    stop_if_done(i);
}

static int
code_of(int status)
{
    switch (status) {
    case 400:
    case 413:
        return -EINVAL;
    case 403:
        return -EACCES;
    case 404:
        return -ENOENT;
    case 429:
    case 503:
        return -EAGAIN;
    default:
        return -EREMOTEIO;
    }
}

static void
answered(const struct http_response *answer, const struct error *err, void *arg)
{
    struct inquiry *i = arg;
    const char *message;

    i->is_answered = true;
    stop_if_done(i);
    i->is_refused = answer != NULL;
    if (answer == NULL) {
        i->result = error_set(i->failure, err->code, "%s", err->text);
        return;
    }
    i->answer = json_parse(i->arena, answer->body, answer->length, NULL, NULL);
    if (answer->status < 300 && i->answer != NULL)
        return;
    message = json_get_text(i->answer, "message");
    i->refusal = call_retry_of_answer(answer->status, json_get_text(i->answer, "reason"));
    if (message != NULL)
        i->result = error_set(i->failure, code_of(answer->status), "%s", message);
    else
        i->result = error_set(i->failure, code_of(answer->status),
                              "the server answered with HTTP status %d", answer->status);
}

/* Sends the request until it is answered. */
static int
run(struct connection *connection, const struct http_client_request *request, struct inquiry *i)
{
    struct call_retry *retry = connection_retry(connection);
    struct http_client_request question = *request;
    struct error failure;
    bool is_again;

    question.done = answered;
    question.arg = i;
    do {
        failure = (struct error){0};
        i->failure = &failure;
        i->is_answered = false;
        i->result = i->refusal = 0;
        call_retry_begin(retry, i->loop);
        http_client_call(connection_http(connection), &question);
        loop_run(i->loop);
        is_again = call_retry_end(retry, i->is_refused ? i->refusal : i->result,
                                  question.method == HTTP_GET, &failure);
    } while (is_again);
    if (i->result < 0 && i->err != NULL)
        *i->err = failure;
    return connection_advise(i->result, i->err);
}

int
inquiry_run(struct connection *connection, enum http_method method, const char *target,
            const struct json *body, struct arena *arena, struct json **ret_answer,
            struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct inquiry i = {
        .loop = connection_client(connection)->loop,
        .arena = arena,
        .err = err,
    };
    struct http_client_request question = {.method = method, .target = target};
    int r;

    if (body != NULL) {
        json_print(body, &text);
        question.body = text.text;
        question.length = text.length;
        question.content_type = "application/json";
    }
    r = run(connection, &question, &i);
    *ret_answer = i.answer;
    return r;
}

int
inquiry_run_beside(struct connection *connection, const char *target, inquiry_work_fn *work,
                   void *context, struct arena *arena, struct json **ret_answer, struct error *err)
{
    struct inquiry i = {
        .loop = connection_client(connection)->loop,
        .arena = arena,
        .err = err,
        .work = work,
        .context = context,
    };
    int r;

    i.turn = timer_new(i.loop, work_on, &i);
    timer_start(i.turn, 0);
    r = run(connection, &(struct http_client_request){.method = HTTP_GET, .target = target}, &i);
    timer_free(i.turn);
    *ret_answer = i.answer;
    return r;
}
