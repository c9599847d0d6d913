/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/placing/yard.h"

#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/overlap.h"

struct yard {
    struct random_source random;
    struct handle handle;
    struct string_ids *signatures;
    struct profile *profile;
    struct cache *cache;
    struct snapshot snapshot;
    struct node_finder *node_finder;
    unsigned n_pods;
    unsigned refusals; /* holdings that overlapped */
};

static const struct object *
find_nothing(void *owner, const char *kind, const char *key)
{
    (void)owner, (void)kind, (void)key;
    return NULL;
}

static void
visit_nothing(void *owner, const char *kind, const char *namespace, handle_visit_fn *visit,
              void *context)
{
    (void)owner, (void)kind, (void)namespace, (void)visit, (void)context;
}

/* Counts an overlap, which the agent would refuse after the binding. */
static void
hold(void *owner, struct pod_view *pod, const struct node_view *node, struct holding *holding)
{
    struct yard *y = owner;

    if (overlaps(node->ledger.occupancy, holding))
        y->refusals++;
    cache_hold(y->cache, pod, holding);
}

static const struct object *
parse(const struct kind *kind, const struct strbuf *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    if (object_parse(kind, text->text, text->length, &object, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return object;
}

/* Adds `count` cores from `first` on: their PUs and the siblings of these. */
static void
add_range(struct strbuf *s, const struct yard_shape *shape, unsigned first, unsigned count)
{
    unsigned n = shape->numa * shape->cores;

    strbuf_add_char(s, '"');
    for (unsigned t = 0; t < shape->threads; t++)
        strbuf_printf(s, "%s%u-%u", t > 0 ? "," : "", t * n + first, t * n + first + count - 1);
    strbuf_add_char(s, '"');
}

static void
add_ranges(struct strbuf *s, const struct yard_shape *shape, const char *name, unsigned size)
{
    unsigned n = shape->numa * shape->cores;

    strbuf_printf(s, ",\"%s\":[", name);
    for (unsigned first = 0; first < n; first += size) {
        if (first > 0)
            strbuf_add_char(s, ',');
        add_range(s, shape, first, size);
    }
    strbuf_add_char(s, ']');
}

/* Distances: 10 to itself, 12 in the package, 32 to other packages. */
static void
add_numa(struct strbuf *s, const struct yard_shape *shape, unsigned numa)
{
    unsigned per_package = shape->numa / shape->packages;

    strbuf_printf(s, "%s{\"node\":%u,\"cpus\":", numa > 0 ? "," : "", numa);
    add_range(s, shape, numa * shape->cores, shape->cores);
    strbuf_printf(s, ",\"memory\":\"%uGi\",\"distances\":[", shape->gib);
    for (unsigned i = 0; i < shape->numa; i++)
        strbuf_printf(s, "%s%u", i > 0 ? "," : "",
                      i == numa                               ? 10
                      : i / per_package == numa / per_package ? 12
                                                              : 32);
    strbuf_add_text(s, "]}");
}

static void
add_topology(struct strbuf *s, const struct yard_shape *shape)
{
    unsigned n = shape->numa * shape->cores;

    strbuf_printf(s, "\"topology\":{\"cpus\":\"0-%u\"", n * shape->threads - 1);
    add_ranges(s, shape, "packages", n / shape->packages);
    add_ranges(s, shape, "l3", shape->cores_per_l3);
    if (shape->threads > 1)
        add_ranges(s, shape, "cores", 1);
    strbuf_add_text(s, ",\"numaNodes\":[");
    for (unsigned i = 0; i < shape->numa; i++)
        add_numa(s, shape, i);
    strbuf_add_text(s, "],\"devices\":[");
    for (unsigned i = 0; shape->has_gpus && i < shape->numa; i++)
        strbuf_printf(s, "%s{\"name\":\"gpu%u\",\"type\":\"gpu\",\"node\":%u}", i > 0 ? "," : "", i,
                      i);
    strbuf_add_text(s, "]}");
}

static void
add_node(struct yard *y, const struct yard_shape *shape, unsigned number)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    const struct object *node;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"n%u\"},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"%uGi\","
                  "\"kiln.hpc/gpu\":\"%u\",\"pods\":\"1000\"},",
                  number, shape->numa * shape->cores * shape->threads, shape->numa * shape->gib,
                  shape->has_gpus ? shape->numa : 0);
    add_topology(&s, shape);
    strbuf_add_text(&s, "}}");
    node = parse(&node_kind, &s);
    cache_set_node(y->cache, node);
    object_unref(node);
}

struct yard *
yard_new(const struct yard_shape *shape, unsigned nodes)
{
    struct yard *y = xnew(struct yard);
    struct error err = {0};

    y->random.state = 1;
    y->signatures = string_ids_new();
    y->handle = (struct handle){
        .resources = string_ids_new(),
        .reasons = string_ids_new(),
        .clock = &clock_system,
        .random = &y->random,
        .nominator = nominator_new(),
        .owner = y,
        .find = find_nothing,
        .visit = visit_nothing,
        .hold = hold,
    };
    if (profile_new(
            &(struct profile_settings){
                .scheduler_name = "bench",
                .plugins = default_profile,
                .n_plugins = n_default_profile,
                .percentage_of_nodes = 100,
                .handle = &y->handle,
            },
            &y->profile, &err)
        < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    y->cache = cache_new(&(struct cache_settings){
        .clock = &clock_system,
        .resources = y->handle.resources,
    });
    y->node_finder = node_finder_new(&(struct node_finder_settings){
        .handle = &y->handle,
        .signatures = y->signatures,
        .is_sharing = true,
    });
    for (unsigned i = 0; i < nodes; i++)
        add_node(y, shape, i);
    return y;
}

void
yard_free(struct yard *y)
{
    if (y == NULL)
        return;
    node_finder_free(y->node_finder);
    cache_free(y->cache);
    profile_free(y->profile);
    nominator_free(y->handle.nominator);
    string_ids_free(y->handle.resources);
    string_ids_free(y->handle.reasons);
    string_ids_free(y->signatures);
    free(y);
}

struct pod_view *
yard_pod(struct yard *y, const struct yard_request *r)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    const struct object *object;
    struct pod_view *pod;
    unsigned number = y->n_pods++;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\","
                  "\"uid\":\"p%u\"},\"spec\":{\"placement\":{\"cpuPolicy\":"
                  "\"exclusive\",\"numaPolicy\":\"%s\"},\"containers\":[{"
                  "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%u\","
                  "\"memory\":\"%uMi\"",
                  number, number, r->numa_policy, r->cpus, r->gib * 1024 + r->mib);
    if (r->gpus > 0)
        strbuf_printf(&s, ",\"kiln.hpc/gpu\":\"%u\"", r->gpus);
    strbuf_add_text(&s, "}}}]}}");
    object = parse(&pod_kind, &s);
    pod = pod_view_new(object, y->handle.resources);
    object_unref(object);
    return pod;
}

struct node_view *
yard_place(struct yard *y, struct pod_view *pod)
{
    struct node_view *node;
    struct cycle c;

    cache_update_snapshot(y->cache, &y->snapshot);
    cycle_init(&c, pod, &y->snapshot);
    node = node_finder_find(y->node_finder, y->profile, &c, NULL);
    if (node != NULL) {
        struct answer answer;

        cache_assume(y->cache, pod, node->name);
        answer = profile_reserve(y->profile, &c, node);
        if (answer.verdict != VERDICT_OK) {
            y->refusals++;
            cache_forget(y->cache, pod);
            node = NULL;
        }
    }
    cycle_fini(&c);
    return node;
}

void
yard_remove(struct yard *y, const struct pod_view *pod)
{
    if (!cache_forget(y->cache, pod))
        cache_remove_pod(y->cache, pod);
}

unsigned
yard_look(struct yard *y, struct pod_view *pod)
{
    unsigned at = profile_find(y->profile, "NumaFit"), fit = 0;
    struct cycle c;

    cache_update_snapshot(y->cache, &y->snapshot);
    cycle_init(&c, pod, &y->snapshot);
    for (uint32_t i = 0; i < y->snapshot.n_nodes; i++) {
        const struct node_view *node = y->snapshot.nodes[i];
        struct answer answer;
        int64_t score;

        profile_filter(y->profile, PLUGIN_BIT(at), &c, &node, 1, &answer);
        if (answer.verdict != VERDICT_OK)
            continue;
        profile_score(y->profile, at, &c, &node, 1, &score);
        fit++;
    }
    cycle_fini(&c);
    return fit;
}

unsigned
yard_refusals(const struct yard *y)
{
    return y->refusals;
}
