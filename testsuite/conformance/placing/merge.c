/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - merged hints and admission; memory hints and blocks */
#include <stdlib.h>

#include "lib/allocator/kubelet/kubelet_node.h"
#include "testsuite/conformance/placing/placing.h"

#define MOST_VOICES 64u

struct voices {
    struct numa_hints hints[MOST_VOICES];
    const struct numa_hints *all[MOST_VOICES];
    unsigned count;
};

static void
add_voice(struct voices *v, const struct json *hints)
{
    if (v->count == MOST_VOICES)
        return;
    placing_hints(hints, &v->hints[v->count]);
    v->all[v->count] = &v->hints[v->count];
    v->count++;
}

static void
read_voices(struct voices *v, const struct json *providers)
{
    for (uint32_t i = 0; i < json_count(providers); i++) {
        const struct json *resources = json_at(providers, i);

        if (json_count(resources) == 0)
            add_voice(v, NULL);
        for (uint32_t k = 0; k < json_count(resources); k++)
            add_voice(v, json_get(json_at(resources, k), "hints"));
    }
}

static void
check_best(struct placing *p, const struct numa_hint *best)
{
    const struct json *wanted = json_get(p->line, "best");
    const struct json *mask = json_get(wanted, "mask");
    int64_t nodes = 0;

    json_to_int(mask, &nodes);
    if (best->is_any != json_is(mask, JSON_NULL)
        || (!best->is_any && best->nodes != (uint64_t)nodes))
        placing_differs(p, "best mask: %llu%s, not %lld", (unsigned long long)best->nodes,
                        best->is_any ? " (any)" : "", (long long)nodes);
    if (best->is_preferred != json_is_true(json_get(wanted, "preferred")))
        placing_differs(p, "preferred: %d", best->is_preferred);
}

void
merge_case(struct placing *p)
{
    uint16_t *distances = placing_distances(json_get(p->line, "distances"));
    struct hint_merge m = {
        .policy = placing_policy(json_get_text(p->line, "policy")),
        .prefers_closest = json_is_true(json_get(p->line, "prefer_closest_numa_nodes")),
        .nodes = placing_mask(json_get(p->line, "numa_nodes")),
        .distances = distances,
    };
    struct voices voices = {0};
    struct numa_hint best;
    bool admitted;

    read_voices(&voices, json_get(p->line, "providers"));
    admitted = numa_hint_merge(&m, voices.all, voices.count, &best);
    check_best(p, &best);
    if (admitted != json_is_true(json_get(p->line, "admit")))
        placing_differs(p, "admit: %d", admitted);
    for (unsigned i = 0; i < voices.count; i++)
        numa_hints_fini(&voices.hints[i]);
    free(distances);
}

static void
read_state(const struct json *list, struct memory_manager *l)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *node = json_at(list, i);
        const struct json *types = json_get(node, "memory");
        uint16_t id = (uint16_t)placing_int(node, "id");
        struct memory_node *n;

        memory_manager_add_node(l, id);
        n = memory_manager_find(l, id);
        n->assignments = (unsigned)placing_int(node, "assignments");
        n->group = placing_mask(json_get(node, "cells"));
        for (uint32_t k = 0; k < json_count(types); k++) {
            const struct json_member *m = &types->members[k];

            n->cells[placing_memory_type(m->name)] = (struct memory_cell){
                .allocatable = placing_int(m->value, "allocatable"),
                .reserved = placing_int(m->value, "reserved"),
                .free = placing_int(m->value, "free"),
            };
        }
    }
}

static void
check_state(struct placing *p, const struct memory_manager *l)
{
    const struct json *list = json_get(p->line, "state_after");
    struct memory_manager wanted = {0};

    if (!json_is(list, JSON_ARRAY))
        return;
    read_state(list, &wanted);
    for (unsigned i = 0; i < l->count; i++) {
        const struct memory_node *a = &l->nodes[i], *b = &wanted.nodes[i];

        if (a->assignments != b->assignments || a->group != b->group)
            placing_differs(p, "node %u: assignments or group", a->id);
        for (unsigned t = 0; t < MEMORY_TYPES; t++)
            if (a->cells[t].free != b->cells[t].free
                || a->cells[t].reserved != b->cells[t].reserved)
                placing_differs(p, "node %u: %s free %llu, not %llu", a->id, placing_memory_name(t),
                                (unsigned long long)a->cells[t].free,
                                (unsigned long long)b->cells[t].free);
    }
}

/* Every type has the same hints; no hints are an empty object. */
static void
check_hints(struct placing *p, const struct memory_manager *l, const struct memory_request *request)
{
    const struct json *wanted = json_get(p->line, "hints");
    CLEANUP(numa_hints_fini) struct numa_hints hints = {0};

    memory_manager_hints(l, request, NULL, &hints);
    if (hints.count == 0 && json_count(wanted) > 0)
        placing_differs(p, "hints: none");
    for (unsigned t = 0; t < MEMORY_TYPES && hints.count > 0; t++)
        if (request->is_asked[t])
            placing_check_hints(p, placing_memory_name(t), json_get(wanted, placing_memory_name(t)),
                                &hints);
}

static void
check_blocks(struct placing *p, const struct memory_request *request, uint64_t nodes)
{
    const struct json *blocks = json_get(p->line, "blocks");

    for (uint32_t i = 0; i < json_count(blocks); i++) {
        const struct json *b = json_at(blocks, i);
        unsigned type = placing_memory_type(json_get_text(b, "type"));

        if (placing_mask(json_get(b, "nodes")) != nodes)
            placing_differs(p, "blocks: nodes %llu", (unsigned long long)nodes);
        if (placing_int(b, "size") != request->bytes[type])
            placing_differs(p, "blocks: size");
    }
}

void
memory_case(struct placing *p)
{
    const struct json *asked = json_get(p->line, "request");
    const struct json *mask = json_get_path(p->line, "affinity.mask");
    struct numa_hint affinity = {
        .is_any = !json_is(mask, JSON_NUMBER),
        .is_preferred = json_is_true(json_get_path(p->line, "affinity.preferred")),
    };
    struct memory_request request = {0};
    struct memory_manager l = {0};
    enum memory_answer answer;
    uint64_t nodes = 0;
    int64_t value = 0;

    if (!affinity.is_any) {
        json_to_int(mask, &value);
        affinity.nodes = (uint64_t)value;
    }
    for (uint32_t i = 0; i < json_count(asked); i++) {
        unsigned type = placing_memory_type(asked->members[i].name);

        json_to_int(asked->members[i].value, &value);
        request.is_asked[type] = true;
        request.bytes[type] = (uint64_t)value;
    }
    read_state(json_get(p->line, "state_before"), &l);
    check_hints(p, &l, &request);
    answer = memory_manager_allocate(&l, &request, NULL, &affinity, &nodes);
    placing_check_text(p, "error", json_get_text(p->line, "error"),
                       answer == MEMORY_OK ? "" : memory_answer_name(answer) + sizeof("memory"));
    if (answer != MEMORY_OK)
        return;
    check_blocks(p, &request, nodes);
    check_state(p, &l);
}
