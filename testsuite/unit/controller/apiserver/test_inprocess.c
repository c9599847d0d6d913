/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the controller's own rooms, from a thread of its own. */
#include <pthread.h>

#include "lib/api/meta.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

/* The room: lists, watches, binds what waits, and stops when it has seen it
 * bound.
 */
struct room {
    struct world *world;
    struct loop *loop;
    struct client *client;
    struct informer *informer;
    unsigned n_synced;
    unsigned n_bound;
    unsigned n_answered;
    int code;
};

/* Both pods were seen bound, and both bindings answered, in any order. */
static void
stop_when_all_is_done(struct room *room)
{
    if (room->n_bound < 2 || room->n_answered < 2)
        return;
    loop_stop(room->loop);
    loop_stop(room->world->loop);
}

static void
bound(const struct client_reply *reply, void *context)
{
    struct room *room = context;

    room->code = reply->code;
    room->n_answered++;
    stop_when_all_is_done(room);
}

static void
bind_it(struct room *room, const struct object *object)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);

    json_set_string(arena,
                    json_make_object(arena, body, "target"),
                    "name",
                    "n1");
    client_call(room->client,
                arena,
                &(struct client_request){.verb = CLIENT_CREATE,
                                         .kind = &pod_kind,
                                         .namespace = "default",
                                         .name = object->meta->name,
                                         .subresource = "binding",
                                         .body = body},
                bound,
                room);
}

static void
changed(const struct object *old_object,
        const struct object *new_object,
        void *context)
{
    struct room *room = context;
    const char *node;

    (void)old_object;
    if (new_object == NULL)
        return;
    node = pod_of(new_object)->spec.node_name;
    if (node == NULL || node[0] == '\0') {
        bind_it(room, new_object);
        return;
    }
    room->n_bound++;
    stop_when_all_is_done(room);
}

static void
synced(void *context)
{
    struct room *room = context;

    room->n_synced++;
}

static void *
work(void *arg)
{
    struct room *room = arg;

    room->loop = loop_new();
    room->client = apiserver_client_new(room->world->server,
                                        room->loop,
                                        APISERVER_SCHEDULER);
    room->informer =
        informer_new(&(struct informer_settings){.client = room->client,
                                                 .kind = &pod_kind,
                                                 .changed = changed,
                                                 .synced = synced,
                                                 .context = room});
    loop_run(room->loop);
    informer_free(room->informer);
    client_free(room->client);
    loop_drain(room->loop);
    loop_free(room->loop);
    return NULL;
}

START_TEST(a_room_sees_what_is_there_and_what_comes_and_binds_it)
{
    CLEANUP_WORLD struct world w;
    struct room room = {.world = &w};
    pthread_t thread;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    ck_assert_int_eq(pthread_create(&thread, NULL, work, &room), 0);
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));

    loop_run(w.loop);
    pthread_join(thread, NULL);

    ck_assert_uint_eq(room.n_bound, 2);
    ck_assert_uint_eq(room.n_synced, 1);
    ck_assert_int_eq(room.code, 201);
}
END_TEST

/* A client that goes while its calls and watches are under way. */
struct leaver {
    struct world *world;
    unsigned n_answers;
    bool was_answered;
};

static void
count(const struct client_reply *reply, void *context)
{
    struct leaver *leaver = context;

    leaver->n_answers++;
    leaver->was_answered = reply->code != 0;
}

static void
ignore(const struct client_event *event, void *context)
{
    (void)event;
    (void)context;
}

START_TEST(a_client_may_go_with_calls_under_way)
{
    CLEANUP_WORLD struct world w;
    struct leaver leaver = {.world = &w};
    struct client *client;

    world_init(&w);
    client = apiserver_client_new(w.server, w.loop, APISERVER_LIFECYCLE);
    client_call(
        client,
        NULL,
        &(struct client_request){.verb = CLIENT_LIST, .kind = &namespace_kind},
        count,
        &leaver);
    client_watch(client,
                 &(struct client_watch_request){.kind = &namespace_kind},
                 ignore,
                 NULL);
    client_free(client);

    loop_drain(w.loop);

    ck_assert_uint_eq(leaver.n_answers, 0);
}
END_TEST

START_TEST(calls_that_are_abandoned_come_back_without_an_answer)
{
    CLEANUP_WORLD struct world w;
    struct leaver leaver = {.world = &w};
    struct client *client;

    world_init(&w);
    client = apiserver_client_new(w.server, w.loop, APISERVER_LIFECYCLE);
    client_call(
        client,
        NULL,
        &(struct client_request){.verb = CLIENT_LIST, .kind = &namespace_kind},
        count,
        &leaver);
    client_abandon(client);
    ck_assert_uint_eq(leaver.n_answers, 1);
    ck_assert(!leaver.was_answered);
    client_free(client);

    loop_drain(w.loop);

    ck_assert_uint_eq(leaver.n_answers, 1);
}
END_TEST

SUITE("inprocess",
      a_room_sees_what_is_there_and_what_comes_and_binds_it,
      a_client_may_go_with_calls_under_way,
      calls_that_are_abandoned_come_back_without_an_answer)
