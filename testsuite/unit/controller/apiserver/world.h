/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - the API over a real store, called by any principal that a test
 * needs
 *
 * world_ask() sends one request like the HTTP handler, waits for the answer,
 * and returns the code and the body as that principal sees it.
 */
#pragma once

#include <check.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/apiserver.h"
#include "controller/apiserver/capacity/node_classes.h"
#include "controller/apiserver/http/render.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/auth/user.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/http/target.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/scratch.h"

struct world {
    char *directory;
    struct fake_clock time;
    struct policy policy;
    int64_t startup_wait_ms;
    struct loop *loop;
    struct workers *workers;
    struct user_counts *counts;
    struct node_classes *classes;
    struct store *store;
    struct apiserver *server;
};

struct answer {
    struct arena *arena;
    int code;
    struct json *body; /* NULL: not JSON */
    const char *text;
    unsigned n_warnings;
    const char *warning; /* the first; or NULL */
};

static const gid_t no_groups[1] UNUSED = {65534};

#define PERSON(t, id, n)                                                                   \
    {                                                                                      \
        .type = PRINCIPAL_##t, .uid = (id), .gid = (id), .name = (n), .groups = no_groups, \
        .n_groups = 1                                                                      \
    }
static const struct principal admin UNUSED = PERSON(ADMINISTRATOR, 0, "root");
static const struct principal operator_ UNUSED = PERSON(OPERATOR, 1500, "olga");
static const struct principal alice UNUSED = PERSON(USER, 2001, "alice");
static const struct principal bob UNUSED = PERSON(USER, 2002, "bob");
static const struct principal machine_root UNUSED = PERSON(ENROLLING, 0, "root");
static const struct principal agent_n1 UNUSED = {
    .type = PRINCIPAL_AGENT, .name = "root", .groups = no_groups, .n_groups = 1, .node = "n1"};
static const struct principal scheduler_room UNUSED = {.type = PRINCIPAL_SCHEDULER,
                                                       .name = "scheduler"};

static inline void
world_failed(const struct error *err, void *context)
{
    (void)context;
    ck_abort_msg("the store failed: %s", err->text);
}

static inline void
world_moved(const struct object *before, const struct object *after, void *context)
{
    struct world *w = context;

    user_counts_moved(w->counts, before, after);
    if ((before != NULL ? before : after)->kind == &node_kind)
        node_classes_moved(w->classes, before, after);
}

/* The user database: uid 2001 is alice, and so on. */
static inline const struct user *
world_look_up(uid_t uid, gid_t gid)
{
    const struct principal *const people[] = {&admin, &operator_, &alice, &bob};
    struct user *user = (struct user *)(uintptr_t)user_lookup((uid_t)-2, gid);

    user->uid = uid;
    for (unsigned i = 0; i < ARRAY_SIZE(people); i++)
        if (people[i]->uid == uid) {
            free(user->name);
            user->name = xstrdup(people[i]->name);
            user->is_known = true;
        }
    return user;
}

static inline void
world_open(struct world *w)
{
    struct error err = {0};

    w->loop = loop_new();
    w->workers = workers_new(1);
    w->counts = user_counts_new(&w->time.clock);
    w->classes = node_classes_new();
    if (store_open(&(struct store_settings){.loop = w->loop,
                                            .clock = &w->time.clock,
                                            .location.directory = w->directory,
                                            .moved = world_moved,
                                            .moved_context = w,
                                            .failed = world_failed,
                                            .context = w},
                   &w->store, &err)
        < 0)
        ck_abort_msg("%s", err.text);
    w->server = apiserver_new(&(struct apiserver_settings){.loop = w->loop,
                                                           .clock = &w->time.clock,
                                                           .store = w->store,
                                                           .workers = w->workers,
                                                           .counts = w->counts,
                                                           .node_classes = w->classes,
                                                           .startup_wait_ms = w->startup_wait_ms,
                                                           .profile = &api_profile_kiln,
                                                           .policy = &w->policy,
                                                           .cluster = "test",
                                                           .look_up_user = world_look_up});
    loop_drain(w->loop);
}

static inline void
world_init(struct world *w)
{
    log_set_level(LOG_LEVEL_WARNING);
    *w = (struct world){.time = FAKE_CLOCK, .policy.minimum_uid = 1000};
    w->directory = scratch_new();
    world_open(w);
}

static inline void
world_close(struct world *w)
{
    loop_drain(w->loop);
    apiserver_stop(w->server);
    store_close(w->store);
    workers_free(w->workers);
    loop_drain(w->loop);
    apiserver_free(w->server);
    user_counts_free(w->counts);
    node_classes_free(w->classes);
    loop_drain(w->loop);
    loop_free(w->loop);
}

static inline void
world_fini(struct world *w)
{
    world_close(w);
    scratch_freep(&w->directory);
}
#define CLEANUP_WORLD CLEANUP(world_fini)

static inline void
answer_fini(struct answer *a)
{
    if (a->arena != NULL)
        arena_free(a->arena);
}
#define CLEANUP_ANSWER CLEANUP(answer_fini)

/* An answer that is waited for. Other callbacks, above all watches, stop the
 * same loop, so a stopped loop does not mean that this answer has arrived.
 */
struct awaited {
    struct loop *loop;
    bool is_here;
};

static inline void
world_done(struct request *q)
{
    struct awaited *awaited = q->context;

    awaited->is_here = true;
    loop_stop(awaited->loop);
}

static inline const struct parameter *
world_parameters(struct arena *arena, const struct target *target)
{
    struct parameter *p = arena_new_array(arena, struct parameter, target->n_parameters + 1);

    for (size_t i = 0; i < target->n_parameters; i++) {
        p[i].name = arena_strdup(arena, target->parameters[i].name);
        p[i].value = arena_strdup(arena, target->parameters[i].value);
    }
    return p;
}

/* All parameters of world_ask(). */
struct question {
    const struct principal *who;
    enum http_method method;
    const char *target;
    enum body_format format;
    const char *body;
    const char *key;
    const struct kind *kind;          /* NULL: the target's kind */
    const struct task_list *requeued; /* as for kctl requeue, or NULL */
};

static inline void
world_read(struct answer *a, struct request *q, const struct view *view)
{
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct reply *reply = &q->reply;

    render_reply(frame, view, reply);
    frame_copy(frame, &text);
    a->arena = arena_new(0);
    a->code = reply->code;
    a->n_warnings = (unsigned)reply->n_warnings;
    if (reply->n_warnings > 0)
        a->warning = arena_strdup(a->arena, reply->warnings[0]);
    a->text = arena_strndup(a->arena, text.text, text.length);
    a->body = json_parse(a->arena, text.text, text.length, NULL, NULL);
}

/* In two steps, for tests of concurrent requests. */
struct asked {
    struct request *q;
    struct target target;
    struct awaited awaited;
};

static inline void
world_begin(struct world *w, const struct question *question, struct asked *asked)
{
    struct request *q = request_new(w->server, arena_new(0));
    struct target *target = &asked->target;

    asked->q = q;
    asked->awaited = (struct awaited){.loop = w->loop};
    ck_assert_int_eq(target_parse(question->target, target), 0);
    ck_assert_int_eq(request_find_route(q, question->method, target->path, false), ROUTE_FOUND);
    if (question->kind != NULL)
        q->route.kind = question->kind;
    q->principal = question->who;
    q->format = question->format;
    q->text = question->body;
    q->length = question->body != NULL ? strlen(question->body) : 0;
    q->submission_key = question->key;
    q->requeued_tasks = question->requeued;
    q->done = world_done;
    q->context = &asked->awaited;
    verbs_start(q, world_parameters(q->arena, target), target->n_parameters);
}

static inline struct answer
world_wait(struct world *w, struct asked *asked)
{
    struct view view = {
        .principal = asked->q->principal, .store = w->store, .now_us = w->time.real_us};
    struct answer answer = {0};

    while (!asked->awaited.is_here)
        loop_run(w->loop);
    target_fini(&asked->target);
    world_read(&answer, asked->q, &view);
    request_free(asked->q);
    return answer;
}

static inline struct answer
world_put(struct world *w, const struct question *question)
{
    struct asked asked;

    world_begin(w, question, &asked);
    return world_wait(w, &asked);
}

static inline struct answer
world_ask(struct world *w, const struct principal *who, enum http_method method, const char *target,
          const char *body)
{
    return world_put(
        w, &(struct question){.who = who,
                              .method = method,
                              .target = target,
                              .format = method == HTTP_PATCH ? BODY_MERGE_PATCH : BODY_JSON,
                              .body = body});
}

/* Returns only the code. */
static inline int
world_code(struct world *w, const struct principal *who, enum http_method method,
           const char *target, const char *body)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, who, method, target, body);

    return a.code;
}

static inline const char *
answer_get(const struct answer *a, const char *path)
{
    return json_path_text(a->body, path);
}

#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"

/* A to_stored function for tests: its tree fits no kind. */
static inline struct json *
world_spoil(struct arena *arena, const struct json *object)
{
    struct json *tree = json_dup(arena, object);

    json_set(arena, json_get(tree, "metadata"), "labels", json_string(arena, "spoilt"));
    return tree;
}

/* A valid pod, and a valid job. */
#define POD(name)                                                        \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"restartPolicy\":" \
    "\"Never\",\"containers\":[{\"name\":\"main\",\"command\":["         \
    "\"/bin/secret\"]}]}}"
#define JOB(meta)                                                        \
    "{\"metadata\":{" meta "},\"spec\":{\"script\":{\"text\":\"#!/bin/"  \
    "sh\\necho secret\\n\"},\"backoffLimit\":0,\"template\":{\"spec\":{" \
    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\"}]}}}}"
