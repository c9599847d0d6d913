/* SPDX-License-Identifier: Apache-2.0 */
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
#include "lib/base/list.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define QUESTIONS_MAX 64u /* under way at a time, of all users together */
#define ANSWER_MS     10000

struct responder {
    atomic_uint references;
    struct apiserver *server;
    pthread_mutex_t lock;       /* for the next: */
    struct loop *loop;          /* the client's; NULL: closed */
    client_respond_fn *respond; /* NULL: closed; the client's thread alone */
    void *context;              /* likewise */
};

struct responders {
    struct apiserver *server;
    struct responder *current; /* a reference, or NULL */
    struct list questions;
    unsigned n_questions;
    bool is_stopped;
};

/* Handed to the client's thread and back, whole but for what the API's thread
 * needs to give up on it.
 */
struct question {
    struct list link;        /* the API's thread alone */
    struct request *q;       /* likewise; NULL: given up */
    struct timer *timer;     /* likewise */
    responder_done_fn *done; /* likewise */
    struct responder *responder;
    struct client_question asked;
    struct arena *arena;
    struct json *answer;
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
fail(struct request *q, int code)
{
    static const char nobody[] =
        "no scheduler of this controller leads, and only the scheduler can "
        "answer that";
    static const char late[] =
        "the scheduler did not answer in time; try again";

    reply_fail(&q->reply,
               &(struct reply_failure){
                   .code = 503,
                   .reason = "ServiceUnavailable",
                   .message = code == -ETIMEDOUT ? late : nobody,
                   .retry_after_s = 1,
               });
}

static void
question_free(struct question *question)
{
    object_unref(question->asked.pod);
    responder_unref(question->responder);
    arena_free(question->arena);
    free(question);
}

/* The request goes on; the question may still be on its way. */
static void
end_question(struct question *question, struct json *answer, int result)
{
    struct request *q = question->q;

    question->q = NULL;
    list_remove(&question->link);
    timer_free(question->timer);
    question->timer = NULL;
    q->server->responders->n_questions--;
    if (result < 0)
        fail(q, result);
    question->done(q, answer);
}

/* On the API's thread, with the answer. */
static void
come_back(void *arg)
{
    struct question *question = arg;
    struct request *q = question->q;

    if (q != NULL)
        end_question(
            question,
            question->result == 0 ? json_dup(q->arena, question->answer) : NULL,
            question->result);
    question_free(question);
}

/* On the client's thread. */
static void
answer_question(void *arg)
{
    struct question *question = arg;
    struct responder *r = question->responder;

    question->result = -EAGAIN;
    if (r->respond != NULL)
        question->result = r->respond(&question->asked,
                                      question->arena,
                                      &question->answer,
                                      r->context);
    loop_post(r->server->loop, come_back, question);
}

static void
give_up(void *arg)
{
    end_question(arg, NULL, -ETIMEDOUT);
}

/* A client that closes meanwhile answers that it cannot. */
static bool
pass_on(struct question *question)
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

void
responders_ask(struct request *q,
               const struct object *pod,
               bool is_hypothetical,
               responder_done_fn *done)
{
    struct responders *all = q->server->responders;
    struct question *question;

    if (all->current == NULL || all->is_stopped) {
        fail(q, -EAGAIN);
        done(q, NULL);
        return;
    }
    if (all->n_questions >= QUESTIONS_MAX) {
        reply_fail(&q->reply,
                   &(struct reply_failure){
                       .code = 429,
                       .reason = "TooManyRequests",
                       .message = "too many ask the scheduler at this moment; "
                                  "try again",
                       .retry_after_s = 1,
                   });
        done(q, NULL);
        return;
    }
    question = xnew(struct question);
    question->q = q;
    question->done = done;
    question->asked.pod = object_ref(pod);
    question->asked.is_hypothetical = is_hypothetical;
    question->arena = arena_new(0);
    question->responder = all->current;
    atomic_fetch_add(&all->current->references, 1);
    question->timer = timer_new(q->server->loop, give_up, question);
    timer_start(question->timer, ANSWER_MS);
    list_add_last(&all->questions, &question->link);
    all->n_questions++;
    if (!pass_on(question)) {
        question->result = -EAGAIN;
        come_back(question);
    }
}

/* Registration: both run on the API's thread, in the order of their posts. */

static void
register_responder(void *arg)
{
    struct responder *r = arg;
    struct responders *all = r->server->responders;

    responder_unref(all->current);
    all->current = r;
}

static void
unregister_responder(void *arg)
{
    struct responder *r = arg;
    struct responders *all = r->server->responders;

    if (all->current == r) {
        all->current = NULL;
        responder_unref(r);
    }
    responder_unref(r);
}

struct responder *
responder_new(struct apiserver *server,
              struct loop *loop,
              client_respond_fn *respond,
              void *context)
{
    struct responder *r = xnew(struct responder);

    atomic_init(&r->references, 2); /* the client's, and the API's */
    r->server = server;
    pthread_mutex_init(&r->lock, NULL);
    r->loop = loop;
    r->respond = respond;
    r->context = context;
    loop_post(server->loop, register_responder, r);
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
responders_new(struct apiserver *server)
{
    struct responders *all = xnew(struct responders);

    all->server = server;
    list_init(&all->questions);
    return all;
}

void
responders_stop(struct responders *all)
{
    all->is_stopped = true;
    while (!list_is_empty(&all->questions))
        end_question(container_of(all->questions.next, struct question, link),
                     NULL,
                     -EAGAIN);
}

void
responders_free(struct responders *all)
{
    if (all == NULL)
        return;
    responder_unref(all->current);
    free(all);
}
