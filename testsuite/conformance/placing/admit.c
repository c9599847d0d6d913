/* SPDX-License-Identifier: Apache-2.0 */
/* admit.c - whole pods on one node, one after the other */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/allocator/kubelet/kubelet_node.h"
#include "lib/base/alloc.h"
#include "testsuite/conformance/placing/placing.h"

#define MOST_PODS  256u
#define MOST_NAMES 16u

struct sequence {
    struct placing *p;
    struct kubelet_node node;
    const char *device_ids[DEVICE_MANAGER_MAX];
    const char *resources[MOST_NAMES];
    unsigned n_resources;
    struct {
        const char *name;
        struct kubelet_pod pod;
    } pods[MOST_PODS];
    unsigned n_pods;
    unsigned step;
};

static unsigned
resource_number(struct sequence *s, const char *name)
{
    unsigned i = 0;

    while (i < s->n_resources && strcmp(s->resources[i], name) != 0)
        i++;
    if (i == s->n_resources && i < MOST_NAMES)
        s->resources[s->n_resources++] = name;
    return i;
}

/* Devices are in the order of their ids, as the device plugin prefers them. */
static void
read_devices(struct sequence *s, const struct json *list)
{
    struct device_manager *b = &s->node.devices;

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *device = json_at(list, i);
        const char *id = json_get_text(device, "id");
        unsigned at = b->count++;

        while (at > 0 && strcmp(s->device_ids[at - 1], id) > 0) {
            s->device_ids[at] = s->device_ids[at - 1];
            b->seats[at] = b->seats[at - 1];
            at--;
        }
        s->device_ids[at] = id;
        b->seats[at] = (struct device_slot){
            .resource = resource_number(s, json_get_text(device, "resource")),
            .nodes = placing_mask(json_get(device, "numa")),
        };
    }
    b->numa_ids = s->p->machine->layout->levels[LEVEL_NUMA].ids;
    b->n_numa = s->p->machine->layout->levels[LEVEL_NUMA].count;
}

static void
read_container(struct sequence *s, const struct json *from, struct kubelet_container *c)
{
    const struct json *devices = json_get(from, "devices");
    int64_t huge = json_get_int(from, "hugepages_2mi", 0);

    c->is_init = json_is_true(json_get(from, "init"));
    c->is_restartable = json_is_true(json_get(from, "restartable"));
    c->cpu_milli = json_get_int(from, "cpu_milli", 0);
    c->memory.is_asked[0] = true;
    c->memory.bytes[0] = (uint64_t)json_get_int(from, "memory", 0);
    c->memory.is_asked[1] = huge > 0;
    c->memory.bytes[1] = (uint64_t)huge;
    for (uint32_t i = 0; i < json_count(devices) && c->n_devices < KUBELET_DEVICES; i++) {
        int64_t count = 0;

        json_to_int(devices->members[i].value, &count);
        c->devices[c->n_devices].resource = resource_number(s, devices->members[i].name);
        c->devices[c->n_devices++].count = (unsigned)count;
    }
}

static void
read_pod(struct sequence *s, const struct json *from, struct kubelet_pod *pod)
{
    const struct json *containers = json_get(from, "containers");

    pod->is_guaranteed = strcmp(json_get_text(from, "qos"), "Guaranteed") == 0;
    pod->count = json_count(containers);
    pod->containers = xnew_array(struct kubelet_container, pod->count + 1);
    for (unsigned i = 0; i < pod->count; i++)
        read_container(s, json_at(containers, i), &pod->containers[i]);
}

static void
check_devices(struct sequence *s, const char *what, const struct json *wanted,
              const struct bitset *devices)
{
    struct bitset expected = {0};

    for (uint32_t i = 0; i < json_count(wanted); i++) {
        const struct json *ids = wanted->members[i].value;

        for (uint32_t k = 0; k < json_count(ids); k++)
            for (unsigned d = 0; d < s->node.devices.count; d++)
                if (strcmp(s->device_ids[d], json_text(json_at(ids, k))) == 0)
                    bitset_add(&expected, d);
    }
    if (!bitset_equals(&expected, devices))
        placing_differs(s->p, "step %u: %s: other devices", s->step, what);
}

static void
check_hint(struct sequence *s, const char *name, const struct json *wanted,
           const struct numa_hint *hint)
{
    const struct json *mask = json_get(wanted, "mask");
    int64_t nodes = 0;

    json_to_int(mask, &nodes);
    if (hint->is_any == json_is(mask, JSON_NUMBER)
        || (!hint->is_any && hint->nodes != (uint64_t)nodes)
        || hint->is_preferred != json_is_true(json_get(wanted, "preferred")))
        placing_differs(s->p, "step %u: %s: hint %llu %d, not %lld", s->step, name,
                        (unsigned long long)hint->nodes, hint->is_preferred, (long long)nodes);
}

static void
check_blocks(struct sequence *s, const char *name, const struct json *wanted,
             const struct kubelet_container *c)
{
    if (json_count(wanted) != c->n_blocks)
        placing_differs(s->p, "step %u: %s: blocks", s->step, name);
    for (uint32_t i = 0; i < json_count(wanted); i++) {
        const struct json *w = json_at(wanted, i);
        unsigned type = placing_memory_type(json_get_text(w, "type"));

        for (unsigned b = 0; b < c->n_blocks; b++)
            if (c->blocks[b].type == type
                && (c->blocks[b].bytes != placing_int(w, "size")
                    || c->blocks[b].nodes != placing_mask(json_get(w, "nodes"))))
                placing_differs(s->p, "step %u: %s: %s of %llu on %llu", s->step, name,
                                placing_memory_name(type), (unsigned long long)c->blocks[b].bytes,
                                (unsigned long long)c->blocks[b].nodes);
    }
}

static void
check_placed(struct sequence *s, const struct json *placed, const struct kubelet_pod *pod)
{
    for (unsigned i = 0; i < pod->count; i++) {
        const struct json *wanted = json_at(placed, i);
        const struct kubelet_container *c = &pod->containers[i];
        const char *name = json_get_text(wanted, "name");

        check_hint(s, name, json_get(wanted, "hint"), &c->hint);
        placing_check_cpus(s->p, name, json_get(wanted, "cpus"), &c->cpus);
        check_blocks(s, name, json_get(wanted, "memory"), c);
        check_devices(s, name, json_get(wanted, "devices"), &c->got_devices);
    }
}

/* The kubelet may assign a core of which a container has the other thread (its
 * defect "outside-available"); when that pod is refused, the container's CPUs
 * are in the shared pool. After that its answers are those of a node with CPUs
 * assigned twice, and cannot be matched.
 */
static bool
is_given_twice(const struct sequence *s, const struct json *step)
{
    struct bitset shared;

    placing_cpus(step, "shared_cpus", &shared);
    if (s->node.cpus.options.strict_reservation
        && bitset_intersects(&shared, &s->node.cpus.reserved))
        return true;
    for (unsigned i = 0; i < s->n_pods; i++)
        for (unsigned c = 0; c < s->pods[i].pod.count; c++)
            if (bitset_intersects(&shared, &s->pods[i].pod.containers[c].cpus))
                return true;
    return false;
}

static void
check_node(struct sequence *s, const struct json *step)
{
    const struct json *memory = json_get(step, "memory_after");

    placing_check_cpus(s->p, "shared_cpus", json_get(step, "shared_cpus"), &s->node.cpus.shared);
    for (uint32_t i = 0; i < json_count(memory); i++) {
        const struct json *w = json_at(memory, i);
        const struct json *free_of = json_get(w, "free");
        const struct memory_node *n =
            memory_manager_find(&s->node.memory, (uint16_t)placing_int(w, "id"));

        if (n->assignments != placing_int(w, "assignments")
            || n->group != placing_mask(json_get(w, "cells")))
            placing_differs(s->p, "step %u: node %u: group", s->step, n->id);
        for (uint32_t k = 0; k < json_count(free_of); k++) {
            const char *type = free_of->members[k].name;

            if (n->cells[placing_memory_type(type)].free != placing_int(free_of, type))
                placing_differs(s->p, "step %u: node %u: free %s", s->step, n->id, type);
        }
    }
    check_devices(s, "devices_used", json_get(step, "devices_used"), &s->node.devices.used);
}

static void
admit(struct sequence *s, const struct json *step)
{
    static const char *const reasons[] = {
        [KUBELET_ADMITTED] = "",
        [KUBELET_TOPOLOGY_AFFINITY] = "TopologyAffinityError",
        [KUBELET_SMT_ALIGNMENT] = "SMTAlignmentError",
        [KUBELET_UNEXPECTED] = "UnexpectedAdmissionError",
    };
    enum kubelet_reason reason;
    struct kubelet_pod pod;
    const char *detail;

    read_pod(s, json_get(step, "pod"), &pod);
    reason = kubelet_node_admit(&s->node, &pod, &detail);
    placing_check_text(s->p, "reason", json_get_text(step, "reason"), reasons[reason]);
    placing_check_text(s->p, "detail", json_get_text(step, "detail"), detail);
    if ((reason == KUBELET_ADMITTED) != json_is_true(json_get(step, "admitted")))
        placing_differs(s->p, "step %u: admitted: %s", s->step, detail);
    if (reason != KUBELET_ADMITTED || s->n_pods == MOST_PODS) {
        free(pod.containers);
        return;
    }
    check_placed(s, json_get(step, "placed"), &pod);
    s->pods[s->n_pods].name = json_get_text(step, "name");
    s->pods[s->n_pods++].pod = pod;
}

static void
leave(struct sequence *s, const char *name)
{
    for (unsigned i = 0; i < s->n_pods; i++)
        if (strcmp(s->pods[i].name, name) == 0) {
            kubelet_node_remove(&s->node, &s->pods[i].pod);
            free(s->pods[i].pod.containers);
            s->pods[i] = s->pods[--s->n_pods];
            return;
        }
    placing_differs(s->p, "step %u: '%s' is not here", s->step, name);
}

static void
prepare(struct sequence *s)
{
    const struct json *line = s->p->line;
    struct cpu_options options = placing_options(json_get(line, "cpu_options"));
    const char *scope = json_get_text(line, "scope");
    struct bitset reserved;

    placing_cpus(line, "reserved_cpus", &reserved);
    cpu_manager_init(&s->node.cpus, s->p->machine->layout, &options, &reserved);
    s->node.merge = (struct hint_merge){
        .policy = placing_policy(json_get_text(line, "policy")),
        .prefers_closest = json_is_true(json_get(line, "prefer_closest_numa_nodes")),
        .nodes = s->p->machine->nodes,
        .distances = s->p->machine->distances,
    };
    s->node.scope = scope != NULL && strcmp(scope, "pod") == 0 ? SCOPE_POD : SCOPE_CONTAINER;
    placing_memory_nodes(json_get(line, "memory_nodes"), &s->node.memory);
    read_devices(s, json_get(line, "devices"));
}

void
admit_case(struct placing *p)
{
    const struct json *steps = json_get(p->line, "steps");
    struct sequence *s = xnew(struct sequence);

    s->p = p;
    prepare(s);
    for (uint32_t i = 0; i < json_count(steps) && p->mismatches == 0; i++) {
        const struct json *step = json_at(steps, i);

        s->step = i;
        if (strcmp(json_get_text(step, "op"), "remove") == 0)
            leave(s, json_get_text(step, "name"));
        else
            admit(s, step);
        if (is_given_twice(s, step)) {
            printf("# %s: ends at step %u, where the kubelet's shared pool "
                   "has CPUs of a container\n",
                   p->id, i);
            break;
        }
        check_node(s, step);
    }
    for (unsigned i = 0; i < s->n_pods; i++)
        free(s->pods[i].pod.containers);
    free(s);
}
