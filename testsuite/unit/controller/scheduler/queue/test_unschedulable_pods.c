/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that other pods block: hints are evaluated once per group, with the same
 * result as one by one.
 */
#include "controller/scheduler/queue/unschedulable_pods.h"

#include <stdio.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/probe.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/upstream_profile.h"

#define PODS 60

struct bench {
    struct fake_clock time;
    struct random_source dice;
    struct probe probe;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct queue *queue;
    struct fake_client *api;
    unsigned asked;
};

static void
count_hint(void *context, const char *plugin, const char *event, bool is_helping, int64_t took_us)
{
    (void)plugin, (void)event, (void)is_helping, (void)took_us;
    ((struct bench *)context)->asked++;
}

static void
bench_init(struct bench *b, uint64_t seed)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *b = (struct bench){.time = clock, .dice = {seed}};
    b->probe = (struct probe){.hint_took = count_hint, .context = b};
    b->signatures = string_ids_new();
    b->api = fake_client_new();
    b->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &b->time.clock,
        .random = &b->dice,
        .nominator = nominator_new(),
        .probe = &b->probe,
    };
    ck_assert_int_eq(profile_new(
                         &(struct profile_settings){
                             .scheduler_name = "default-scheduler",
                             .plugins = upstream_profile,
                             .n_plugins = ARRAY_SIZE(upstream_profile),
                             .handle = &b->handle,
                         },
                         &b->profile, NULL),
                     0);
    b->queue = queue_new(&(struct queue_settings){
        .clock = &b->time.clock,
        .nominator = b->handle.nominator,
        .signatures = b->signatures,
        .is_sharing = true,
    });
}

static void
bench_fini(struct bench *b)
{
    queue_free(b->queue);
    profile_free(b->profile);
    nominator_free(b->handle.nominator);
    string_ids_free(b->handle.resources);
    string_ids_free(b->handle.reasons);
    string_ids_free(b->signatures);
    fake_client_free(b->api);
}

static plugin_set
bit_of(const struct bench *b, const char *plugin)
{
    return PLUGIN_BIT(profile_find(b->profile, plugin));
}

/* The pod fails because of those plugins. */
static void
fall_asleep(struct bench *b, const char *name, const char *namespace, const char *spec,
            plugin_set rejectors)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    struct pod_view *pod;
    struct queued_pod *p;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                  "\"labels\":{\"color\":\"%s\"}},\"spec\":{\"containers\":[{"
                  "\"name\":\"c\"}]%s}}",
                  name, namespace, random_below(&b->dice, 2) == 0 ? "red" : "green", spec);
    pod = pod_view_new(fake_client_put(b->api, &pod_kind, s.text), b->handle.resources);
    queue_add(b->queue, pod, b->profile);
    pod_view_unref(pod);
    p = queue_pop(b->queue);
    p->unschedulable = rejectors;
    queue_fail(b->queue, p);
}

#define LIKE(color) "\"labelSelector\":{\"matchLabels\":{\"color\":\"" color "\"}}"
#define SPREAD(color, key)                            \
    ",\"topologySpreadConstraints\":[{\"maxSkew\":1," \
    "\"whenUnsatisfiable\":\"DoNotSchedule\",\"topologyKey\":\"" key "\"," LIKE(color) "}]"
#define TERM(kind, color, key, more)                                                           \
    ",\"affinity\":{\"" kind "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{" LIKE( \
        color) ",\"topologyKey\":\"" key "\"" more "}]}}"

static const struct object *
other_pod(struct bench *b, const char *namespace, const char *color)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"other\",\"namespace\":\"%s\","
             "\"labels\":{\"color\":\"%s\"}},\"spec\":{\"nodeName\":\"n\","
             "\"containers\":[{\"name\":\"c\"}]%s}}",
             namespace, color, TERM("podAntiAffinity", "red", "zone", ""));
    return object_ref(fake_client_put(b->api, &pod_kind, json));
}

START_TEST(equal_pods_that_others_hold_back_are_asked_once)
{
    struct bench b;
    const struct object *blue, *red;
    char name[16];

    bench_init(&b, 1);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        fall_asleep(&b, name, "d", SPREAD("red", "zone"), bit_of(&b, "PodTopologySpread"));
    }
    blue = other_pod(&b, "d", "blue");
    red = other_pod(&b, "d", "red");

    queue_event(b.queue, &event_assigned_pod_add, NULL, blue);
    ck_assert_uint_eq(b.asked, 1);
    ck_assert_uint_eq(queue_count(b.queue).unschedulable, 1000);

    queue_event(b.queue, &event_assigned_pod_add, NULL, red);
    ck_assert_uint_eq(queue_count(b.queue).unschedulable, 0);
    object_unref(blue);
    object_unref(red);
    bench_fini(&b);
}
END_TEST

static void
random_sleeper(struct bench *b, unsigned number)
{
    static const char *const spreads[] = {
        "",
        SPREAD("red", "zone"),
        SPREAD("red", "rack"),
        SPREAD("blue", "zone"),
    };
    static const char *const terms[] = {
        "",
        TERM("podAffinity", "red", "zone", ""),
        TERM("podAffinity", "blue", "rack", ""),
        TERM("podAffinity", "red", "zone", ",\"namespaces\":[\"e\"]"),
        TERM("podAntiAffinity", "red", "zone", ""),
        TERM("podAntiAffinity", "red", "rack", ",\"namespaceSelector\":{}"),
    };
    static const char *const plugins[] = {
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesFit",
        "TaintToleration",
    };
    plugin_set rejectors = 0;
    char name[16], spec[1024];

    for (size_t i = 0; i < ARRAY_SIZE(plugins); i++)
        if (random_below(&b->dice, 2) == 0)
            rejectors |= bit_of(b, plugins[i]);
    snprintf(name, sizeof(name), "p%u", number);
    snprintf(spec, sizeof(spec), "%s%s%s", spreads[random_below(&b->dice, ARRAY_SIZE(spreads))],
             terms[random_below(&b->dice, ARRAY_SIZE(terms))],
             random_below(&b->dice, 3) == 0
                 ? ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]"
                 : "");
    fall_asleep(b, name, random_below(&b->dice, 2) == 0 ? "d" : "e", spec,
                rejectors != 0 ? rejectors : bit_of(b, plugins[0]));
}

static const struct object *
random_node(struct bench *b)
{
    static const char *const labels[] = {
        "",
        "\"zone\":\"a\"",
        "\"rack\":\"a\"",
        "\"zone\":\"b\",\"rack\":\"a\"",
    };
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"n\",\"labels\":{%s}},\"spec\":{%s},"
             "\"status\":{\"allocatable\":{\"pods\":\"9\"}}}",
             labels[random_below(&b->dice, ARRAY_SIZE(labels))],
             random_below(&b->dice, 2) == 0
                 ? "\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]"
                 : "");
    return object_ref(fake_client_put(b->api, &node_kind, json));
}

/* Compares the answer that each pod would get separately with its new state. */
static void
compare(struct bench *b, const struct cluster_event *event, const struct object *old_object,
        const struct object *new_object)
{
    enum wake_strategy wanted[PODS];
    char name[16];

    for (unsigned i = 0; i < PODS; i++) {
        const struct queued_pod *p;

        snprintf(name, sizeof(name), "p%u", i);
        p = queue_find(b->queue, "d", name);
        if (p == NULL)
            p = queue_find(b->queue, "e", name);
        wanted[i] = wake_strategy(p, event, old_object, new_object);
    }
    queue_event(b->queue, event, old_object, new_object);
    for (unsigned i = 0; i < PODS; i++) {
        const struct queued_pod *p;

        snprintf(name, sizeof(name), "p%u", i);
        p = queue_find(b->queue, "d", name);
        if (p == NULL)
            p = queue_find(b->queue, "e", name);
        if (p->group != NULL && p->unschedulable != 0
            && (p->unschedulable & (bit_of(b, "PodTopologySpread") | bit_of(b, "InterPodAffinity")))
                   != 0)
            ck_assert_int_eq(p->state == QUEUE_UNSCHEDULABLE, wanted[i] == WAKE_SKIP);
    }
}

START_TEST(each_is_woken_as_if_it_were_asked_by_itself)
{
    static const char *const colors[] = {"red", "blue", "green"};

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct bench b;
        const struct object *before, *after;

        bench_init(&b, seed);
        for (unsigned i = 0; i < PODS; i++)
            random_sleeper(&b, i);
        if (random_below(&b.dice, 2) == 0) {
            const char *namespace = random_below(&b.dice, 2) == 0 ? "d" : "e";

            before = other_pod(&b, namespace, colors[random_below(&b.dice, 3)]);
            after = other_pod(&b, namespace, colors[random_below(&b.dice, 3)]);
        } else {
            before = random_node(&b);
            after = random_node(&b);
        }
        switch (random_below(&b.dice, 3)) {
        case 0:
            compare(&b, before->kind == &node_kind ? &event_node_add : &event_assigned_pod_add,
                    NULL, after);
            break;
        case 1:
            compare(&b,
                    before->kind == &node_kind ? &event_node_delete
                    : seed % 2 == 0            ? &event_anti_affinity_gone
                                               : &event_assigned_pod_delete,
                    before, NULL);
            break;
        default: {
            struct cluster_event events[EVENTS_OF_UPDATE];
            unsigned n = before->kind == &node_kind
                             ? events_of_node_update(before, after, events)
                             : events_of_pod_update(before, after, true, events);

            if (n > 0)
                compare(&b, &events[0], before, after);
        }
        }
        object_unref(before);
        object_unref(after);
        bench_fini(&b);
    }
}
END_TEST

/* ---- The order of unschedulable pods ---- */

#define POD_COUNT 300
#define SHAPES    7

static bool
is_earlier(const void *a, const void *b, void *context)
{
    (void)context;
    return ((const struct queued_pod *)a)->order < ((const struct queued_pod *)b)->order;
}

static bool
is_any(const struct queued_pod *pod, void *context)
{
    (void)pod, (void)context;
    return true;
}

static const struct queued_pod *
find_earliest(const struct queued_pod *pods)
{
    const struct queued_pod *first = NULL;

    for (unsigned i = 0; i < POD_COUNT; i++)
        if (pods[i].group != NULL && (first == NULL || pods[i].order < first->order))
            first = &pods[i];
    return first;
}

/* Sometimes a pod fails for another reason, and changes its group. */
static void
put_to_sleep(struct bench *b, struct unschedulable_pods *all, struct queued_pod *pod,
             unsigned number)
{
    unsigned signature = number % (3 * SHAPES);
    struct sleep_signs signs = {
        .signature = signature,
        .shape = 100 + (random_below(&b->dice, 9) > 0 ? signature % SHAPES : SHAPES),
        .hints = SIGNATURE_NONE,
    };

    *pod = (struct queued_pod){
        .profile = b->profile,
        .order = random_below(&b->dice, 1000) * POD_COUNT + number,
        .unschedulable =
            bit_of(b, random_below(&b->dice, 9) > 0 ? "NodeResourcesFit" : "NodeAffinity"),
    };
    unschedulable_pods_add(all, pod, &signs);
}

static void
take_away(struct unschedulable_pods *all, struct queued_pod *pod)
{
    struct queued_pod *next;

    unschedulable_pods_remove(all, pod);
    unschedulable_pods_leave(all, pod, &next);
}

START_TEST(the_first_in_order_is_known_whoever_comes_and_goes)
{
    struct queued_pod pods[POD_COUNT] = {0};
    struct bench b;
    struct unschedulable_pods *all;

    bench_init(&b, 1);
    all = unschedulable_pods_new(is_earlier, NULL);
    for (unsigned round = 0; round < 5000; round++) {
        unsigned at = (unsigned)random_below(&b.dice, POD_COUNT);

        if (pods[at].group == NULL)
            put_to_sleep(&b, all, &pods[at], at);
        else
            take_away(all, &pods[at]);
        ck_assert_ptr_eq(unschedulable_pods_first(all, is_any, NULL), find_earliest(pods));
    }
    for (unsigned i = 0; i < POD_COUNT; i++)
        if (pods[i].group != NULL)
            take_away(all, &pods[i]);
    ck_assert_uint_eq(unschedulable_pods_groups(all), 0);
    unschedulable_pods_free(all);
    bench_fini(&b);
}
END_TEST

SUITE("unschedulable_pods", the_first_in_order_is_known_whoever_comes_and_goes,
      equal_pods_that_others_hold_back_are_asked_once, each_is_woken_as_if_it_were_asked_by_itself)
