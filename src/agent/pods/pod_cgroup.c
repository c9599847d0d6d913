/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/device_guard.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define USUAL_WEIGHT     100u
#define MILLI_PER_WEIGHT 10 /* 1 shared CPU has weight 100 */

char *
pod_cgroup_memory_nodes(const struct topology *t, const struct object *pod)
{
    const struct allocation *a = pod_of(pod)->status.allocation;
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    struct bitset nodes = {0};

    if (a == NULL || a->memory_nodes == NULL)
        return NULL;
    if (pod_is_memory_bound(pod_of(pod)))
        return xstrdup(a->memory_nodes);
    for (unsigned i = 0; i < t->n_numa; i++)
        bitset_add(&nodes, t->numa[i].os_index);
    cpuset_format(&nodes, &all);
    return strbuf_take(&all);
}

static int
set_cpus(const struct pod_cgroup_limits *c, struct cgroup *cgroup, struct error *err)
{
    const struct allocation *a = pod_of(c->pod)->status.allocation;
    CLEANUP_FREE char *nodes = NULL;

    if (a == NULL || (a->cpus == NULL && c->shared_cpus == NULL)
        || !cgroot_ability(c->agent->cgroups)->cpuset || c->agent->is_virtual)
        return 0;
    nodes = pod_cgroup_memory_nodes(c->topology, c->pod);
    return cgroup_set_cpus(cgroup, a->cpus != NULL ? a->cpus : c->shared_cpus, nodes, err);
}

/* If the kernel refuses the partition, the pod still has its CPUs. */
static void
partition_cpus(const struct pod_cgroup_limits *c, struct cgroup *cgroup, char **ret_unpartitioned)
{
    const struct allocation *a = pod_of(c->pod)->status.allocation;
    const struct agent_context *agent = c->agent;
    struct error err = {0};

    if (a != NULL && a->cpus != NULL && agent->partition != NULL
        && cgroot_ability(agent->cgroups)->partitions
        && cgroup_set_partition(cgroup, agent->partition, &err) < 0)
        *ret_unpartitioned = xstrdup(err.text);
}

static int
set_memory(const struct pod_cgroup_limits *c, struct cgroup *cgroup, struct error *err)
{
    const struct resources *res = &pod_of(c->pod)->spec.containers.items[0].resources;
    const char *memory = string_map_find(&res->limits, "memory");
    uint64_t bytes = memory != NULL ? (uint64_t)quantity_text_value(memory) : 0;

    if (memory == NULL && string_map_find(&res->requests, "memory") == NULL)
        bytes = c->agent->default_memory;
    if ((memory == NULL && bytes == 0) || !cgroot_ability(c->agent->cgroups)->memory)
        return 0;
    return cgroup_set_memory(cgroup, bytes, err);
}

/* The pod may request a lower limit than the node's. */
static int
set_processes(const struct pod_cgroup_limits *c, struct cgroup *cgroup, struct error *err)
{
    const char *asked = string_map_find(&c->pod->meta->annotations, ANNOTATION_PIDS);
    uint64_t limit = c->agent->pids_per_pod;
    long long wanted = asked != NULL ? strtoll(asked, NULL, 10) : 0;

    if (wanted > 0 && (limit == 0 || (uint64_t)wanted < limit))
        limit = (uint64_t)wanted;
    if (limit == 0 || !cgroot_ability(c->agent->cgroups)->max_processes)
        return 0;
    return cgroup_set_max_processes(cgroup, limit, err);
}

/* Compares sizes as numbers, because the same size can be written in several
 * ways.
 */
static uint64_t
asked_hugepages(const struct object *pod, uint64_t page_bytes)
{
    static const char prefix[] = "hugepages-";
    const struct string_map *limits = &pod_of(pod)->spec.containers.items[0].resources.limits;

    for (unsigned i = 0; i < limits->count; i++) {
        const struct string_entry *l = &limits->items[i];

        if (strncmp(l->key, prefix, sizeof(prefix) - 1) == 0
            && (uint64_t)quantity_text_value(l->key + sizeof(prefix) - 1) == page_bytes)
            return (uint64_t)quantity_text_value(l->value);
    }
    return 0;
}

/* Limits each page size of the node to what the pod has requested, mostly
 * nothing: the other pages are allocated to other pods, and no limit of memory
 * counts them.
 */
static int
set_hugepages(const struct pod_cgroup_limits *c, struct cgroup *cgroup, struct error *err)
{
    const struct topology *t = c->topology;
    uint64_t done = 0;
    int r = 0;

    if (c->agent->is_virtual || !cgroot_ability(c->agent->cgroups)->hugepages)
        return 0;
    for (unsigned i = 0; i < t->n_numa; i++)
        for (unsigned j = 0; r == 0 && j < t->numa[i].n_hugepages; j++) {
            uint64_t page = t->numa[i].hugepages[j].page_bytes;

            if ((done & page) == 0) /* sizes are powers of two */
                r = cgroup_set_hugepages(cgroup, page, asked_hugepages(c->pod, page), err);
            done |= page;
        }
    return r;
}

/* Only for a pod that shares its CPUs with others. */
static int
set_weight(const struct pod_cgroup_limits *c, struct cgroup *cgroup, struct error *err)
{
    const struct pod *pod = pod_of(c->pod);
    const struct allocation *a = pod->status.allocation;
    const struct resources *res = &pod->spec.containers.items[0].resources;
    const char *cpu = string_map_find(&res->requests, "cpu");
    int64_t weight = cpu != NULL ? quantity_text_milli(cpu) / MILLI_PER_WEIGHT : USUAL_WEIGHT;

    if (!cgroot_ability(c->agent->cgroups)->weight || (a != NULL && a->cpus != NULL))
        return 0;
    weight = weight < 1 ? 1 : weight > 10000 ? 10000 : weight;
    return cgroup_set_weight(cgroup, (unsigned)weight, err);
}

bool
pod_cgroup_hides_devices(const struct agent_context *agent)
{
    return agent->cgroups != NULL && !agent->is_virtual && cgroot_ability(agent->cgroups)->devices;
}

/* Where devices cannot be denied, only the variables of the GPUs guide the pod.
 */
static int
guard_devices(const struct pod_cgroup_limits *c, struct cgroup *cgroup, struct error *err)
{
    const struct agent_context *agent = c->agent;
    unsigned n = 0;
    struct device_number *denied;
    int r;

    if (!pod_cgroup_hides_devices(agent))
        return 0;
    denied = device_guard_list(c->topology, pod_of(c->pod)->status.allocation, &n);
    r = cgroup_deny_devices(cgroup, denied, n, err);
    free(denied);
    return r;
}

int
pod_cgroup_set_limits(const struct pod_cgroup_limits *c, struct cgroup *cgroup,
                      char **ret_unpartitioned, struct error *err)
{
    int r = set_cpus(c, cgroup, err);

    if (r == 0)
        partition_cpus(c, cgroup, ret_unpartitioned);
    if (r == 0)
        r = set_memory(c, cgroup, err);
    if (r == 0)
        r = set_processes(c, cgroup, err);
    if (r == 0)
        r = set_hugepages(c, cgroup, err);
    if (r == 0)
        r = set_weight(c, cgroup, err);
    return r < 0 ? r : guard_devices(c, cgroup, err);
}
