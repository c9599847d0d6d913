/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of how many nodes are evaluated, and in which order. */
#include <string.h>

#include "controller/scheduler/state/cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static void
run_wanted(struct trial *t)
{
    int64_t percentage = json_get_int(t->line, "percentageOfNodesToScore", 0);

    for (uint32_t i = 0; i < json_count(t->expect); i++) {
        const struct json *e = json_at(t->expect, i);
        int64_t nodes = json_get_int(e, "nodes", 0);

        want_number(t, arena_printf(t->arena, "of %lld", (long long)nodes),
                    json_get_int(e, "find", -1),
                    node_finder_wanted((unsigned)percentage, (uint32_t)nodes));
    }
}

static struct json *
make_node(struct trial *t, uint32_t number)
{
    struct json *node = json_object(t->arena);
    struct json *meta = json_make_object(t->arena, node, "metadata");
    struct json *status = json_make_object(t->arena, node, "status");
    struct json *has = json_make_object(t->arena, status, "allocatable");

    json_set(t->arena, meta, "name", json_stringf(t->arena, "n%u", number));
    json_set_string(t->arena, has, "pods", "110");
    return node;
}

static void
add_nodes(struct trial *t, struct sandbox *s)
{
    const struct json *cordoned = json_get(t->line, "unschedulable");
    int64_t count = json_get_int(t->line, "nodeCount", 0);

    for (uint32_t i = 0; i < count; i++) {
        struct json *node = make_node(t, i);
        const struct object *object;

        for (uint32_t c = 0; c < json_count(cordoned); c++) {
            int64_t number = -1;

            json_to_int(json_at(cordoned, c), &number);
            if (number == i)
                json_set_bool(t->arena, json_make_object(t->arena, node, "spec"), "unschedulable",
                              true);
        }
        object = sandbox_object(t, &node_kind, node);
        cache_set_node(s->cache, object);
        object_unref(object);
    }
    cache_update_snapshot(s->cache, &s->snapshot);
}

static void
run_round(struct trial *t, struct sandbox *s, struct pod_view *pod, const struct json *round)
{
    const struct json *feasible = json_get(round, "feasible");
    struct node_finder_facts facts;
    struct cycle c;

    want_number(t, "start", json_get_int(round, "start", -1),
                node_finder_place(s->node_finder).next_start);
    cycle_init(&c, pod, &s->snapshot);
    node_finder_find(s->node_finder, s->profile, &c, NULL);
    facts = node_finder_facts(s->node_finder);
    want_number(t, "feasible", json_count(feasible), facts.feasible);
    for (uint32_t i = 0; i < json_count(feasible) && t->mismatches == 0; i++) {
        int64_t number = -1;

        json_to_int(json_at(feasible, i), &number);
        want_text(t, "order of discovery", arena_printf(t->arena, "n%lld", (long long)number),
                  facts.nodes[i]->name);
    }
    want_number(t, "rejected", json_get_int(round, "rejected", -1),
                facts.evaluated - facts.feasible);
    want_number(t, "nextStart", json_get_int(round, "nextStart", -1),
                node_finder_place(s->node_finder).next_start);
    cycle_fini(&c);
}

static void
run_rotation(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    struct json *pod = json_object(t->arena);
    CLEANUP(pod_view_unrefp) struct pod_view *view = NULL;

    json_set_string(t->arena, json_make_object(t->arena, pod, "metadata"), "name", "p");
    view = sandbox_pod(s, pod, NULL);
    add_nodes(t, s);
    s->profile->percentage_of_nodes =
        (unsigned)json_get_int(t->line, "percentageOfNodesToScore", 0);
    for (uint32_t i = 0; i < json_count(t->expect); i++)
        run_round(t, s, view, json_at(t->expect, i));
}

static void
run_order(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    const struct json *steps = json_get(t->line, "steps");

    for (uint32_t i = 0; i < json_count(steps); i++) {
        const struct json *step = json_at(steps, i);
        const struct json *order = json_get(step, "order");

        if (json_get(step, "node") != NULL) {
            const struct object *node = sandbox_object(t, &node_kind, json_get(step, "node"));

            cache_set_node(s->cache, node);
            object_unref(node);
        } else {
            cache_remove_node(s->cache, json_get_text(step, "name"));
        }
        cache_update_snapshot(s->cache, &s->snapshot);
        want_number(t, "nodes", json_count(order), s->snapshot.n_nodes);
        for (uint32_t n = 0; n < json_count(order) && t->mismatches == 0; n++)
            want_text(t, "order", json_text(json_at(order, n)), s->snapshot.nodes[n]->name);
    }
}

void
misc_case(struct trial *t)
{
    const char *kind = json_get_text(t->line, "kind");

    if (strcmp(kind, "numFeasibleNodesToFind") == 0)
        run_wanted(t);
    else if (strcmp(kind, "rotation") == 0)
        run_rotation(t);
    else if (strcmp(kind, "snapshotOrder") == 0)
        run_order(t);
    else if (strcmp(kind, "numPreemptionCandidates") == 0)
        wanted_candidates(t);
    else
        trial_skip(t, kind);
}
