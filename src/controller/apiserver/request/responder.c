/* SPDX-License-Identifier: Apache-2.0 */
/* Only the scheduler knows why a pod waits, and its time is the cluster's. So one question is
 * passed on at a time, all together get a tenth of its thread (decision 170), and the rest
 * waits here with a limit. Either side may end first: a question is handed over as a whole,
 * and the request gives up on it without waiting for the other thread.
 */
#include "controller/apiserver/request/responder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/time_share.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define QUESTIONS_MAX 64u /* that wait at a time, of all users together */
#define ANSWER_MS     10000

/* Answers may take this share of the client's thread, all together: the client
 * has other work.
 */
#define ANSWERS_US        10000
#define ANSWERS_WINDOW_US 100000

struct responder {
    atomic_uint references;
    struct apiserver *server;
    struct responders *all;
    pthread_mutex_t lock;       /* protects `loop` */
    struct loop *loop;          /* the client's; NULL: closed */
    client_respond_fn *respond; /* NULL: closed; used by the client's thread
                                 * only
                                 */
    void *context;              /* likewise */
};

struct responders {
    struct apiserver *server;
    struct responder *current; /* a reference, or NULL */
    struct list questions;     /* those that wait, in the order of arrival */
    unsigned n_questions;
    struct responder_question *asked; /* the one that was passed on; its request
                                       * may have given up
                                       */
    struct time_share share;
    struct timer *pause; /* until the time share allows more */
    bool is_optional;    /* a request goes on without an answer */
    bool is_stopped;
};

/* Handed to the client's thread and back as a whole, except for the members
 * that the API's thread needs to give up on the answer.
 */
struct responder_question {
    struct list link; /* used by the API's thread only */
    struct responders *all;
    struct request *q;           /* likewise; NULL: given up */
    struct timer *timer;         /* likewise */
    responder_done_fn *done;     /* likewise */
    struct responder *responder; /* NULL: it was not passed on yet */
    struct client_question asked;
    struct arena *arena;
    struct json *answer;
    int64_t took_us;
    int result;
};

static void
responder_unref(struct responder *r)
{
    if (r == NULL || atomic_fetch_sub(&r->references, 1) > 1)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static void
fail(const struct responders *all, struct request *q, int code)
{
    static const char nobody[] = "no scheduler of this controller holds its lease, and only the "
                                 "scheduler can answer that";
    static const char late[] = "the scheduler did not answer in time; try again";

    if (all->is_optional)
        return;
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 503,
                              .reason = "ServiceUnavailable",
                              .message = code == -ETIMEDOUT ? late : nobody,
                              .retry_after_s = 1,
                          });
}

static void
question_free(struct responder_question *question)
{
    object_unref(question->asked.object);
    responder_unref(question->responder);
    arena_free(question->arena);
    free(question);
}

/* The request goes on; the question may still be on the client's thread. */
static void
end_question(struct responder_question *question, struct json *answer, int result)
{
    struct request *q = question->q;

    question->q = NULL;
    list_remove(&question->link);
    timer_free(question->timer);
    question->timer = NULL;
    question->all->n_questions--;
    if (result < 0)
        fail(question->all, q, result);
    question->done(q, answer);
}

static void pass_next(struct responders *all);

/* Runs on the API's thread, with the answer. */
static void
take_answer(void *arg)
{
    struct responder_question *question = arg;
    struct responders *all = question->all;
    struct request *q = question->q;

    time_share_add(&all->share, question->took_us);
    if (all->asked == question)
        all->asked = NULL;
    if (q != NULL)
        end_question(question, question->result == 0 ? json_dup(q->arena, question->answer) : NULL,
                     question->result);
    question_free(question);
    pass_next(all);
}

/* Runs on the client's thread. */
static void
answer_question(void *arg)
{
    struct responder_question *question = arg;
    struct responder *r = question->responder;
    int64_t began_us = clock_monotonic_us(r->server->clock);

    question->result = -EAGAIN;
    if (r->respond != NULL)
        question->result =
            r->respond(&question->asked, question->arena, &question->answer, r->context);
    question->took_us = clock_monotonic_us(r->server->clock) - began_us;
    loop_post(r->server->loop, take_answer, question);
}

static void
give_up(void *arg)
{
    struct responder_question *question = arg;
    bool is_under_way = question->responder != NULL;

    end_question(question, NULL, -ETIMEDOUT);
    if (!is_under_way)
        question_free(question);
}

/* Returns false when the client has closed. A client that closes after this
 * call answers the question with a failure.
 */
static bool
pass_on(struct responder_question *question)
{
    struct responder *r = question->responder;
    bool is_open;

    pthread_mutex_lock(&r->lock);
    is_open = r->loop != NULL;
    if (is_open)
        loop_post(r->loop, answer_question, question);
    pthread_mutex_unlock(&r->lock);
    return is_open;
}

static void
fail_question(struct responder_question *question)
{
    bool is_under_way = question->responder != NULL;

    end_question(question, NULL, -EAGAIN);
    if (!is_under_way)
        question_free(question);
}

/* The oldest question that was not passed on yet. */
static struct responder_question *
find_next(const struct responders *all)
{
    list_foreach(link, &all->questions)
    {
        struct responder_question *question = container_of(link, struct responder_question, link);

        if (question->responder == NULL)
            return question;
    }
    return NULL;
}

static void
pass_next(struct responders *all)
{
    struct responder_question *question;
    int64_t wait_us;

    while (all->asked == NULL && (question = find_next(all)) != NULL) {
        if (all->current == NULL || all->is_stopped) {
            fail_question(question);
            continue;
        }
        wait_us = time_share_wait_us(&all->share);
        if (wait_us > 0) {
            timer_start(all->pause, (wait_us + 999) / 1000);
            return;
        }
        question->responder = all->current;
        atomic_fetch_add(&all->current->references, 1);
        if (pass_on(question)) {
            all->asked = question;
            return;
        }
        fail_question(question);
        question_free(question);
    }
}

static void
end_pause(void *arg)
{
    pass_next(arg);
}

void
responders_ask(struct responders *all, struct request *q, const struct object *object,
               bool is_hypothetical, responder_done_fn *done)
{
    struct responder_question *question;

    if (all->current == NULL || all->is_stopped
        || (all->is_optional && all->n_questions >= QUESTIONS_MAX)) {
        fail(all, q, -EAGAIN);
        done(q, NULL);
        return;
    }
    if (all->n_questions >= QUESTIONS_MAX) {
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 429,
                                  .reason = "TooManyRequests",
                                  .message = "too many requests are waiting for the "
                                             "scheduler; try again",
                                  .retry_after_s = 1,
                              });
        done(q, NULL);
        return;
    }
    question = xnew(struct responder_question);
    question->all = all;
    question->q = q;
    question->done = done;
    question->asked.object = object_ref(object);
    question->asked.is_hypothetical = is_hypothetical;
    question->arena = arena_new(0);
    question->timer = timer_new(q->server->loop, give_up, question);
    timer_start(question->timer, ANSWER_MS);
    list_add_last(&all->questions, &question->link);
    all->n_questions++;
    pass_next(all);
}

/* Both functions of the registration run on the API's thread, in the order in
 * which they were posted.
 */

static void
register_responder(void *arg)
{
    struct responder *r = arg;
    struct responders *all = r->all;

    responder_unref(all->current);
    all->current = r;
}

static void
unregister_responder(void *arg)
{
    struct responder *r = arg;
    struct responders *all = r->all;

    if (all->current == r) {
        all->current = NULL;
        responder_unref(r);
    }
    /* The client's loop may never run a question that it has not run by now. */
    if (all->asked != NULL && all->asked->responder == r)
        all->asked = NULL;
    responder_unref(r);
    pass_next(all);
}

struct responder *
responder_new(struct responders *all, struct loop *loop, client_respond_fn *respond, void *context)
{
    struct responder *r = xnew(struct responder);

    atomic_init(&r->references, 2); /* the client's and the API's */
    r->server = all->server;
    r->all = all;
    pthread_mutex_init(&r->lock, NULL);
    r->loop = loop;
    r->respond = respond;
    r->context = context;
    loop_post(r->server->loop, register_responder, r);
    return r;
}

void
responder_close(struct responder *r)
{
    if (r == NULL)
        return;
    r->respond = NULL;
    pthread_mutex_lock(&r->lock);
    r->loop = NULL;
    pthread_mutex_unlock(&r->lock);
    loop_post(r->server->loop, unregister_responder, r);
}

struct responders *
responders_new(struct apiserver *server, bool is_optional)
{
    struct responders *all = xnew(struct responders);

    all->server = server;
    all->is_optional = is_optional;
    list_init(&all->questions);
    all->share = (struct time_share){
        .clock = server->clock,
        .most_us = ANSWERS_US,
        .window_us = ANSWERS_WINDOW_US,
    };
    all->pause = timer_new(server->loop, end_pause, all);
    return all;
}

void
responders_stop(struct responders *all)
{
    all->is_stopped = true;
    timer_stop(all->pause);
    while (!list_is_empty(&all->questions))
        fail_question(container_of(all->questions.next, struct responder_question, link));
}

void
responders_free(struct responders *all)
{
    if (all == NULL)
        return;
    responder_unref(all->current);
    timer_free(all->pause);
    free(all);
}
