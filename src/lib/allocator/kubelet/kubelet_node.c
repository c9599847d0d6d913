/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/kubelet_node.h"

#include <stddef.h>

#include "lib/base/macro.h"

#define HINTS (KUBELET_DEVICES + 2)

/* The admission of one pod. */
struct visit {
    struct kubelet_node *n;
    struct kubelet_pod *pod;
    struct bitset cpus;         /* reusable by the pod's later containers */
    struct bitset devices;      /* likewise */
    struct memory_reuse memory; /* likewise */
};

/* One request, of a container or of the whole pod. */
struct ask {
    unsigned cpus;
    struct memory_request memory;
    unsigned devices[KUBELET_DEVICES]; /* by place */
    unsigned resources[KUBELET_DEVICES];
    unsigned n_devices;
};

static const char *
name_of_cpu_answer(enum cpu_answer answer)
{
    static const char *const names[] = {
        [CPU_OK] = "",
        [CPU_NOT_ENOUGH] = "not-enough-cpus",
        [CPU_SMT_NOT_MULTIPLE] = "smt-not-multiple",
        [CPU_SMT_NOT_ENOUGH] = "smt-not-enough-cores",
    };

    return names[answer];
}

const char *
memory_answer_name(enum memory_answer answer)
{
    static const char *const names[] = {
        [MEMORY_OK] = "",
        [MEMORY_NO_DEFAULT] = "memory-no-default-hint",
        [MEMORY_DEFAULT_NOT_PREFERRED] = "memory-default-hint-not-preferred",
        [MEMORY_NO_EXTENSION] = "memory-no-extension",
        [MEMORY_EXTENSION_NOT_PREFERRED] = "memory-extension-not-preferred",
        [MEMORY_GROUP_RULE] = "memory-group-rule",
    };

    return names[answer];
}

/* The number of exclusive CPUs: only a Guaranteed pod with a whole number of
 * CPUs gets any.
 */
static unsigned
exclusive_cpus(const struct kubelet_pod *pod, const struct kubelet_container *c)
{
    int64_t cpus = c->cpu_milli / 1000;

    if (!pod->is_guaranteed || c->cpu_milli % 1000 != 0 || cpus < 0)
        return 0;
    return cpus > (int64_t)BITSET_BITS ? BITSET_BITS + 1 : (unsigned)cpus;
}

static unsigned
device_place(struct ask *a, unsigned resource)
{
    unsigned i = 0;

    while (i < a->n_devices && a->resources[i] != resource)
        i++;
    if (i == a->n_devices && i < KUBELET_DEVICES) {
        a->resources[i] = resource;
        a->n_devices++;
    }
    return i < KUBELET_DEVICES ? i : KUBELET_DEVICES - 1;
}

static void
ask_of_container(const struct kubelet_pod *pod, const struct kubelet_container *c,
                 struct ask *ret_ask)
{
    *ret_ask = (struct ask){.cpus = exclusive_cpus(pod, c)};
    if (pod->is_guaranteed)
        ret_ask->memory = c->memory;
    for (unsigned i = 0; i < c->n_devices; i++)
        if (c->devices[i].count > 0)
            ret_ask->devices[device_place(ret_ask, c->devices[i].resource)] = c->devices[i].count;
}

static void
ask_add(struct ask *a, const struct ask *b)
{
    a->cpus += b->cpus;
    for (unsigned t = 0; t < MEMORY_TYPES; t++) {
        a->memory.is_asked[t] |= b->memory.is_asked[t];
        a->memory.bytes[t] += b->memory.bytes[t];
    }
    for (unsigned i = 0; i < b->n_devices; i++)
        a->devices[device_place(a, b->resources[i])] += b->devices[i];
}

static void
ask_max(struct ask *a, const struct ask *b)
{
    if (b->cpus > a->cpus)
        a->cpus = b->cpus;
    for (unsigned t = 0; t < MEMORY_TYPES; t++) {
        a->memory.is_asked[t] |= b->memory.is_asked[t];
        if (b->memory.bytes[t] > a->memory.bytes[t])
            a->memory.bytes[t] = b->memory.bytes[t];
    }
    for (unsigned i = 0; i < b->n_devices; i++) {
        unsigned at = device_place(a, b->resources[i]);

        if (b->devices[i] > a->devices[at])
            a->devices[at] = b->devices[i];
    }
}

/* Drops memory types that only init containers and sidecars ask for: the
 * kubelet ignores them when it adds up the pod.
 */
static void
forget_memory(const struct ask *apps, struct ask *others)
{
    for (unsigned t = 0; t < MEMORY_TYPES; t++)
        if (!apps->memory.is_asked[t]) {
            others->memory.is_asked[t] = false;
            others->memory.bytes[t] = 0;
        }
}

/* The larger of two sums: the peak of the init containers, each together with
 * the sidecars before it, and the sum of all containers that run afterwards.
 */
static void
ask_of_pod(const struct kubelet_pod *pod, struct ask *ret_ask)
{
    struct ask sidecars = {0}, apps = {0}, peak = {0};

    for (unsigned i = 0; i < pod->count; i++) {
        const struct kubelet_container *c = &pod->containers[i];
        struct ask a, beside = sidecars;

        ask_of_container(pod, c, &a);
        if (!c->is_init) {
            ask_add(&apps, &a);
        } else if (c->is_restartable) {
            ask_add(&sidecars, &a);
        } else {
            ask_add(&beside, &a);
            ask_max(&peak, &beside);
        }
    }
    forget_memory(&apps, &sidecars);
    forget_memory(&apps, &peak);
    ask_add(&apps, &sidecars);
    ask_max(&apps, &peak);
    *ret_ask = apps;
}

/* Whether any memory is requested. In Kubernetes a Guaranteed pod always
 * requests some.
 */
static bool
asks_memory(const struct memory_request *q)
{
    for (unsigned t = 0; t < MEMORY_TYPES; t++)
        if (q->is_asked[t])
            return true;
    return false;
}

static bool
merge_hints(const struct visit *v, const struct ask *a, struct numa_hint *ret_best)
{
    struct numa_hints hints[HINTS] = {0};
    const struct numa_hints *all[HINTS] = {0};
    struct bitset available;
    unsigned count = 0;
    bool admitted;

    for (unsigned i = 0; i < a->n_devices; i++)
        device_manager_hints(&v->n->devices, a->resources[i], a->devices[i], &v->devices,
                             &hints[count++]);
    if (a->cpus > 0) {
        cpu_manager_available(&v->n->cpus, &available);
        cpu_manager_hints(&v->n->cpus, &available, &v->cpus, a->cpus, &hints[count++]);
    }
    if (v->pod->is_guaranteed && asks_memory(&a->memory)) {
        memory_manager_hints(&v->n->memory, &a->memory, &v->memory, &hints[count]);
        hints[count].is_anything = hints[count].count == 0;
        count++;
    }
    for (unsigned i = 0; i < count; i++)
        all[i] = &hints[i];
    admitted = numa_hint_merge(&v->n->merge, all, count, ret_best);
    for (unsigned i = 0; i < count; i++)
        numa_hints_fini(&hints[i]);
    return admitted;
}

static bool
give_devices(struct visit *v, struct kubelet_container *c)
{
    for (unsigned i = 0; i < c->n_devices; i++) {
        struct bitset got;

        if (c->devices[i].count == 0)
            continue;
        if (!device_manager_allocate(&v->n->devices, c->devices[i].resource, c->devices[i].count,
                                     &c->hint, &v->devices, &got))
            return false;
        bitset_or(&c->got_devices, &got);
    }
    if (c->is_init && !c->is_restartable)
        bitset_or(&v->devices, &c->got_devices);
    else
        bitset_and_not(&v->devices, &c->got_devices);
    return true;
}

static enum cpu_answer
give_cpus(struct visit *v, struct kubelet_container *c)
{
    unsigned wanted = exclusive_cpus(v->pod, c);
    enum cpu_answer answer;

    if (wanted == 0)
        return CPU_OK;
    answer = cpu_manager_allocate(&v->n->cpus, wanted, &c->hint, &v->cpus, &c->cpus);
    if (answer != CPU_OK)
        return answer;
    if (c->is_init && !c->is_restartable)
        bitset_or(&v->cpus, &c->cpus);
    else
        bitset_and_not(&v->cpus, &c->cpus);
    return CPU_OK;
}

/* Shrinks the blocks of init containers by the amount that a later container
 * reuses, so that the pod's blocks add up to what the pod holds.
 */
static void
shrink_before(struct kubelet_pod *pod, const struct kubelet_container *user,
              const struct memory_block *block)
{
    uint64_t bytes = block->bytes;

    for (struct kubelet_container *c = pod->containers; c != user; c++) {
        if (!c->is_init || c->is_restartable)
            continue;
        for (unsigned i = 0; i < c->n_blocks; i++) {
            struct memory_block *b = &c->blocks[i];
            uint64_t some = b->bytes < bytes ? b->bytes : bytes;

            if (b->type != block->type || b->nodes != block->nodes)
                continue;
            b->bytes -= some;
            bytes -= some;
        }
    }
}

static enum memory_answer
give_memory(struct visit *v, struct kubelet_container *c)
{
    enum memory_answer answer;
    uint64_t nodes;

    if (!v->pod->is_guaranteed || !asks_memory(&c->memory))
        return MEMORY_OK;
    answer = memory_manager_allocate(&v->n->memory, &c->memory, &v->memory, &c->hint, &nodes);
    if (answer != MEMORY_OK)
        return answer;
    for (unsigned t = 0; t < MEMORY_TYPES; t++)
        if (c->memory.is_asked[t])
            c->blocks[c->n_blocks++] =
                (struct memory_block){.nodes = nodes, .type = t, .bytes = c->memory.bytes[t]};
    for (unsigned i = 0; i < c->n_blocks; i++) {
        if (c->is_init && !c->is_restartable)
            memory_reuse_leave(&v->memory, &c->blocks[i]);
        else
            memory_reuse_take(&v->memory, &c->blocks[i]);
        shrink_before(v->pod, c, &c->blocks[i]);
    }
    return MEMORY_OK;
}

static enum kubelet_reason
give(struct visit *v, struct kubelet_container *c, const char **ret_detail)
{
    enum memory_answer memory;
    enum cpu_answer cpus;

    if (!give_devices(v, c)) {
        *ret_detail = "not-enough-devices";
        return KUBELET_UNEXPECTED;
    }
    cpus = give_cpus(v, c);
    *ret_detail = name_of_cpu_answer(cpus);
    if (cpus != CPU_OK)
        return cpus == CPU_NOT_ENOUGH ? KUBELET_UNEXPECTED : KUBELET_SMT_ALIGNMENT;
    memory = give_memory(v, c);
    *ret_detail = memory_answer_name(memory);
    return memory != MEMORY_OK ? KUBELET_UNEXPECTED : KUBELET_ADMITTED;
}

static enum kubelet_reason
admit_all(struct visit *v, const char **ret_detail)
{
    bool is_whole = v->n->scope == SCOPE_POD && v->n->merge.policy != HINT_NONE;
    struct numa_hint hint;
    struct ask a;

    if (is_whole) {
        ask_of_pod(v->pod, &a);
        if (!merge_hints(v, &a, &hint))
            return KUBELET_TOPOLOGY_AFFINITY;
    }
    for (unsigned i = 0; i < v->pod->count; i++) {
        struct kubelet_container *c = &v->pod->containers[i];
        enum kubelet_reason reason;

        if (!is_whole) {
            ask_of_container(v->pod, c, &a);
            if (!merge_hints(v, &a, &hint))
                return KUBELET_TOPOLOGY_AFFINITY;
        }
        c->hint = hint;
        reason = give(v, c, ret_detail);
        if (reason != KUBELET_ADMITTED)
            return reason;
    }
    return KUBELET_ADMITTED;
}

enum kubelet_reason
kubelet_node_admit(struct kubelet_node *n, struct kubelet_pod *pod, const char **ret_detail)
{
    struct visit v = {.n = n, .pod = pod};
    enum kubelet_reason reason;

    *ret_detail = "";
    reason = admit_all(&v, ret_detail);
    if (reason != KUBELET_ADMITTED)
        kubelet_node_remove(n, pod);
    return reason;
}

void
kubelet_node_remove(struct kubelet_node *n, const struct kubelet_pod *pod)
{
    for (unsigned i = 0; i < pod->count; i++) {
        const struct kubelet_container *c = &pod->containers[i];

        bitset_or(&n->cpus.shared, &c->cpus);
        bitset_and_not(&n->devices.used, &c->got_devices);
        for (unsigned b = 0; b < c->n_blocks; b++)
            memory_manager_release(&n->memory, &c->blocks[b]);
    }
}
