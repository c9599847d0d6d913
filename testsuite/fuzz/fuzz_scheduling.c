/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scheduling.c - any bytes as a pod that passes validation: scheduled
 * among a few nodes where a similar one runs already, with shared results and
 * without; preemption is tried for it; its queueing hints are called
 */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/fuzz/fuzz.h"

#define LABELS(n)                                             \
    "\"labels\":{\"kubernetes.io/hostname\":\"" n             \
    "\",\"topology.kubernetes.io/zone\":\"z\",\"disk\":\"ssd" \
    "\",\"cores\":\"16\"}"

static const char *const nodes[] = {
    "{\"metadata\":{\"name\":\"n0\"," LABELS(
        "n0") "},\"status\":{"
              "\"allocatable\":{\"cpu\":\"8\",\"memory\":\"16Gi\",\"pods\":\"9\","
              "\"example.com/gpu\":\"2\"},\"images\":[{\"names\":[\"a:latest\"],"
              "\"sizeBytes\":500000000}],\"topology\":{\"cpus\":\"0-7\",\"packages\":"
              "[\"0-7\"],\"cores\":[\"0,4\",\"1,5\",\"2,6\",\"3,7\"],\"numaNodes\":"
              "[{\"node\":0,\"cpus\":\"0-1,4-5\",\"memory\":\"8Gi\"},{\"node\":1,"
              "\"cpus\":\"2-3,6-7\",\"memory\":\"8Gi\"}]}}}",
    "{\"metadata\":{\"name\":\"n1\"," LABELS(
        "n1") "},\"status\":{"
              "\"allocatable\":{\"cpu\":\"2\",\"memory\":\"1Gi\",\"pods\":\"2\"}}}",
    "{\"metadata\":{\"name\":\"n2\"},\"spec\":{\"unschedulable\":true,"
    "\"taints\":[{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"},{\"key\":"
    "\"l\",\"value\":\"v\",\"effect\":\"NoExecute\"}]},\"status\":{"
    "\"allocatable\":{\"cpu\":\"64\",\"memory\":\"1Ti\",\"pods\":\"99\"}}}",
};

struct setting {
    struct clock clock;
    struct random_source random;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct cache *cache;
    struct snapshot snapshot;
    struct node_finder *alone, *sharing;
    const struct object *nodes[ARRAY_SIZE(nodes)];
};

static void
nobody_goes(void *owner, struct pod_view *victim, struct pod_view *preemptor, const char *node_name)
{
    (void)owner, (void)victim, (void)preemptor, (void)node_name;
}

static void
nothing_clears(void *owner, struct pod_view *pod)
{
    (void)owner, (void)pod;
}

static const struct profile *
the_profile(void *owner, const struct pod_view *pod)
{
    (void)pod;
    return ((struct setting *)owner)->profile;
}

static void
setting_init(struct setting *s)
{
    *s = (struct setting){.clock = clock_system, .random = {1}};
    s->signatures = string_ids_new();
    s->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &s->clock,
        .random = &s->random,
        .nominator = nominator_new(),
        .volumes = volume_book_new(),
        .owner = s,
        .evict = nobody_goes,
        .clear_nomination = nothing_clears,
        .profile = the_profile,
    };
    if (profile_new(&(struct profile_settings){.scheduler_name = "x",
                                               .plugins = default_profile,
                                               .n_plugins = n_default_profile,
                                               .percentage_of_nodes = 100,
                                               .handle = &s->handle},
                    &s->profile, NULL)
        < 0)
        abort();
    s->cache = cache_new(&(struct cache_settings){
        .clock = &s->clock,
        .resources = s->handle.resources,
    });
    s->alone = node_finder_new(&(struct node_finder_settings){
        .handle = &s->handle,
        .signatures = s->signatures,
    });
    s->sharing = node_finder_new(&(struct node_finder_settings){
        .handle = &s->handle,
        .signatures = s->signatures,
        .is_sharing = true,
    });
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        if (object_parse(&node_kind, nodes[i], strlen(nodes[i]), &s->nodes[i], NULL) < 0)
            abort();
        cache_set_node(s->cache, s->nodes[i]);
    }
}

static void
setting_fini(struct setting *s)
{
    node_finder_free(s->alone);
    node_finder_free(s->sharing);
    cache_free(s->cache);
    profile_free(s->profile);
    nominator_free(s->handle.nominator);
    volume_book_free(s->handle.volumes);
    string_ids_free(s->handle.resources);
    string_ids_free(s->handle.reasons);
    string_ids_free(s->signatures);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        object_unref(s->nodes[i]);
}

/* Reads the pod as the API does; NULL if it is invalid. */
static struct json *
read_pod(struct arena *arena, const uint8_t *bytes, size_t length)
{
    struct record_notes notes;
    struct causes causes;
    struct json *tree = json_parse(arena, (const char *)bytes, length, NULL, NULL);

    if (!json_is(tree, JSON_OBJECT)
        || record_normalize(pod_kind.record, arena, tree, &notes, NULL) < 0)
        return NULL;
    json_set_string(arena, json_make_object(arena, tree, "metadata"), "namespace", "d");
    pod_kind.set_defaults(arena, tree);
    causes_init(&causes, arena);
    pod_kind.validate(&causes, tree, NULL);
    return causes.count == 0 ? tree : NULL;
}

static void
make_room(struct setting *s, struct cycle *c)
{
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    const char *node = NULL;

    profile_postfilter(s->profile, c, node_finder_diagnosis(s->alone), &node, &message);
}

/* The search without shared results is first: its result is the expected one.
 */
static void
choose(struct setting *s, struct pod_view *pod)
{
    struct node_view *alone, *shared;
    struct cycle c;

    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_init(&c, pod, &s->snapshot);
    alone = node_finder_find(s->alone, s->profile, &c, NULL);
    if (alone == NULL)
        make_room(s, &c);
    cycle_fini(&c);
    cycle_init(&c, pod, &s->snapshot);
    shared = node_finder_find(s->sharing, s->profile, &c, NULL);
    cycle_fini(&c);
    if ((alone == NULL) != (shared == NULL)
        || node_finder_facts(s->alone).feasible != node_finder_facts(s->sharing).feasible)
        abort();
}

static void
ask_hints(struct setting *s, const struct pod_view *pod, const struct object *other)
{
    struct cluster_event events[EVENTS_OF_UPDATE];

    for (unsigned i = 0; i < s->profile->n_entries; i++) {
        const struct profile_entry *e = &s->profile->entries[i];

        for (unsigned w = 0; w < e->plugin->n_wakes; w++) {
            const struct wake *wake = &e->plugin->wakes[w];
            const struct object *any = wake->resource == EVENT_NODE  ? s->nodes[0]
                                       : wake->resource == EVENT_POD ? other
                                                                     : NULL;

            if (wake->hint == NULL || any == NULL)
                continue;
            if ((wake->actions & ACTION_ADD) != 0)
                wake->hint(e->self, pod, NULL, any);
            if ((wake->actions & ACTION_DELETE) != 0)
                wake->hint(e->self, pod, any, NULL);
            if ((wake->actions & ACTION_UPDATE) != 0)
                wake->hint(e->self, pod, any == other ? pod->object : s->nodes[1], any);
        }
    }
    events_of_pod_update(pod->object, other, true, events);
    for (unsigned i = 0; i < s->profile->n_entries; i++)
        profile_sign_hints(s->profile, pod, PLUGIN_BIT(i), s->signatures);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = read_pod(arena, bytes, length), *copy;
    const struct object *object, *bound;
    struct pod_view *pod, *other;
    struct setting s;

    if (tree == NULL)
        return 0;
    copy = json_dup(arena, tree);
    json_set_string(arena, json_get(copy, "metadata"), "name", "bound");
    json_set_string(arena, json_get(copy, "spec"), "nodeName", "n1");
    json_set_int(arena, json_get(copy, "spec"), "priority", -5);
    object = object_new(&pod_kind, tree);
    bound = object_new(&pod_kind, copy);
    setting_init(&s);
    pod = pod_view_new(object, s.handle.resources);
    other = pod_view_new(bound, s.handle.resources);
    choose(&s, pod);
    cache_set_pod(s.cache, other, "n1");
    choose(&s, pod);
    ask_hints(&s, pod, bound);
    pod_view_unref(pod);
    pod_view_unref(other);
    setting_fini(&s);
    object_unref(object);
    object_unref(bound);
    return 0;
}
