/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the controller's own components, from its own thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

/* A component that lists, watches, binds waiting pods, and stops when it has
 * seen these bound.
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

/* Stops when both pods were seen bound, and both bindings were answered, in any
 * order.
 */
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

    json_set_string(arena, json_make_object(arena, body, "target"), "name", "n1");
    client_call(room->client, arena,
                &(struct client_request){.verb = CLIENT_CREATE,
                                         .kind = &pod_kind,
                                         .namespace = "default",
                                         .name = object->meta->name,
                                         .subresource = "binding",
                                         .body = body},
                bound, room);
}

static void
changed(const struct object *old_object, const struct object *new_object, void *context)
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
    room->client = apiserver_client_new(room->world->server, room->loop, APISERVER_SCHEDULER);
    room->informer = informer_new(&(struct informer_settings){.client = room->client,
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

/* One of two schedulers, when the old one has not noticed yet that another
 * leads: each binds a pod of its own to every core, at the same time.
 */
#define CORES 32u

struct binder {
    struct world *world;
    pthread_barrier_t *start;
    char name; /* prefix of its pods' names: "a" or "b" */
    struct loop *loop;
    struct client *client;
    unsigned n_bound, n_refused, n_answered;
    atomic_uint *n_done; /* of both schedulers */
};

static void
count_binding(const struct client_reply *reply, void *context)
{
    struct binder *b = context;

    b->n_bound += reply->code == 201;
    b->n_refused += reply->code == 409;
    if (++b->n_answered < CORES)
        return;
    loop_stop(b->loop);
    if (atomic_fetch_add(b->n_done, 1) == 1)
        loop_stop(b->world->loop);
}

static void
bind_core(struct binder *b, unsigned core)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *allocation;
    char pod[16], cpu[16];

    snprintf(pod, sizeof(pod), "%c%u", b->name, core);
    snprintf(cpu, sizeof(cpu), "%u", core);
    json_set_string(arena, json_make_object(arena, body, "target"), "name", "n1");
    allocation = json_make_object(arena, body, "allocation");
    json_set_string(arena, allocation, "cpus", cpu);
    json_set_string(arena, allocation, "memoryNodes", "0");
    client_call(b->client, arena,
                &(struct client_request){.verb = CLIENT_CREATE,
                                         .kind = &pod_kind,
                                         .namespace = "default",
                                         .name = pod,
                                         .subresource = "binding",
                                         .body = body},
                count_binding, b);
}

static void *
bind_all(void *arg)
{
    struct binder *b = arg;

    b->loop = loop_new();
    b->client = apiserver_client_new(b->world->server, b->loop, APISERVER_SCHEDULER);
    pthread_barrier_wait(b->start);
    for (unsigned core = 0; core < CORES; core++)
        bind_core(b, core);
    loop_run(b->loop);
    client_free(b->client);
    loop_drain(b->loop);
    loop_free(b->loop);
    return NULL;
}

static bool
has_node(struct world *w, char name, unsigned core)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%c%u", name, core);
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, target, NULL);
    const char *node = answer_get(&a, "spec.nodeName");

    return node != NULL && node[0] != '\0';
}

static void
add_pods(struct world *w, const struct binder binders[2])
{
    for (unsigned core = 0; core < CORES; core++)
        for (unsigned i = 0; i < 2; i++) {
            CLEANUP_FREE char *pod =
                xasprintf("{\"metadata\":{\"name\":\"%c%u\"},\"spec\":{"
                          "\"containers\":[{\"name\":\"c\",\"command\":[\"true\"]}]}}",
                          binders[i].name, core);

            ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, pod), 201);
        }
}

START_TEST(of_two_binders_that_want_the_same_cores_one_has_each)
{
    CLEANUP_WORLD struct world w;
    pthread_barrier_t start;
    atomic_uint n_done = 0;
    pthread_t threads[2];
    struct binder binders[2] = {
        {.world = &w, .start = &start, .name = 'a', .n_done = &n_done},
        {.world = &w, .start = &start, .name = 'b', .n_done = &n_done},
    };

    world_init(&w);
    add_pods(&w, binders);
    pthread_barrier_init(&start, NULL, 2);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, bind_all, &binders[i]), 0);
    loop_run(w.loop);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);

    ck_assert_uint_eq(binders[0].n_bound + binders[1].n_bound, CORES);
    ck_assert_uint_eq(binders[0].n_refused + binders[1].n_refused, CORES);
    for (unsigned core = 0; core < CORES; core++)
        ck_assert(has_node(&w, 'a', core) != has_node(&w, 'b', core));
}
END_TEST

/* Two schedulers that bind groups of four. Each group of the second overlaps
 * several groups of the first, so that a group that loses one core must lose
 * all four.
 */
#define MEMBERS 4u

static void
count_group(const struct client_reply *reply, void *context)
{
    struct binder *b = context;

    b->n_bound += reply->code == 201;
    b->n_refused += reply->code == 409;
    if (++b->n_answered < CORES / MEMBERS)
        return;
    loop_stop(b->loop);
    if (atomic_fetch_add(b->n_done, 1) == 1)
        loop_stop(b->world->loop);
}

static struct json *
make_member(struct arena *arena, char name, unsigned core)
{
    struct json *body = json_object(arena), *allocation;
    bool is_second = name == 'b';

    json_set(arena, json_make_object(arena, body, "metadata"), "name",
             json_stringf(arena, "%c%u", name, core));
    json_set_string(arena, json_make_object(arena, body, "target"), "name", "n1");
    allocation = json_make_object(arena, body, "allocation");
    json_set(arena, allocation, "cpus",
             json_stringf(arena, "%u", (core + (is_second ? MEMBERS / 2 : 0)) % CORES));
    json_set_string(arena, allocation, "memoryNodes", "0");
    return body;
}

static void
bind_members(struct binder *b, unsigned first)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *items = json_array(arena);

    for (unsigned i = 0; i < MEMBERS; i++)
        json_append(arena, items, make_member(arena, b->name, first + i));
    json_set_string(arena, body, "kind", "BindingList");
    json_set(arena, body, "items", items);
    client_call(b->client, arena,
                &(struct client_request){.verb = CLIENT_CREATE,
                                         .kind = &pod_kind,
                                         .namespace = "default",
                                         .subresource = "binding",
                                         .body = body},
                count_group, b);
}

static void *
bind_groups(void *arg)
{
    struct binder *b = arg;

    b->loop = loop_new();
    b->client = apiserver_client_new(b->world->server, b->loop, APISERVER_SCHEDULER);
    pthread_barrier_wait(b->start);
    for (unsigned core = 0; core < CORES; core += MEMBERS)
        bind_members(b, core);
    loop_run(b->loop);
    client_free(b->client);
    loop_drain(b->loop);
    loop_free(b->loop);
    return NULL;
}

START_TEST(of_two_binders_of_groups_none_has_half_a_group)
{
    CLEANUP_WORLD struct world w;
    pthread_barrier_t start;
    atomic_uint n_done = 0;
    pthread_t threads[2];
    struct binder binders[2] = {
        {.world = &w, .start = &start, .name = 'a', .n_done = &n_done},
        {.world = &w, .start = &start, .name = 'b', .n_done = &n_done},
    };
    unsigned n_bound = 0;

    world_init(&w);
    add_pods(&w, binders);
    pthread_barrier_init(&start, NULL, 2);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, bind_groups, &binders[i]), 0);
    loop_run(w.loop);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);

    ck_assert_uint_eq(binders[0].n_bound + binders[0].n_refused, CORES / MEMBERS);
    ck_assert_uint_eq(binders[1].n_bound + binders[1].n_refused, CORES / MEMBERS);
    for (unsigned i = 0; i < 2 * CORES; i += MEMBERS) {
        char name = binders[i / CORES].name;
        bool is_first = has_node(&w, name, i % CORES);

        for (unsigned k = 1; k < MEMBERS; k++)
            ck_assert(has_node(&w, name, i % CORES + k) == is_first);
        n_bound += is_first;
    }
    ck_assert_uint_eq(n_bound, binders[0].n_bound + binders[1].n_bound);
    ck_assert_uint_le(n_bound, CORES / MEMBERS);
}
END_TEST

/* A client that is freed while its calls and watches are under way. */
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
    client_call(client, NULL,
                &(struct client_request){.verb = CLIENT_LIST, .kind = &namespace_kind}, count,
                &leaver);
    client_watch(client, &(struct client_watch_request){.kind = &namespace_kind}, ignore, NULL);
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
    client_call(client, NULL,
                &(struct client_request){.verb = CLIENT_LIST, .kind = &namespace_kind}, count,
                &leaver);
    client_abandon(client);
    ck_assert_uint_eq(leaver.n_answers, 1);
    ck_assert(!leaver.was_answered);
    client_free(client);

    loop_drain(w.loop);

    ck_assert_uint_eq(leaver.n_answers, 1);
}
END_TEST

SUITE("local_client", a_room_sees_what_is_there_and_what_comes_and_binds_it,
      of_two_binders_that_want_the_same_cores_one_has_each,
      of_two_binders_of_groups_none_has_half_a_group, a_client_may_go_with_calls_under_way,
      calls_that_are_abandoned_come_back_without_an_answer)
