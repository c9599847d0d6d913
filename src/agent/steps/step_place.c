/* SPDX-License-Identifier: Apache-2.0 */
/* step_place.c - the CPUs, GPUs and memory of a pod
 *
 * Steps are laid out over what the controller gave the pod (its allocation), so that
 * no second program decides about cores. A pod without cores of its own has numbers that
 * only count, for its steps still must not ask for more than it may use.
 */
#include "agent/steps/step_place.h"

#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_order.h"

/* For a pod that shares CPUs, as many as it asked for, under numbers of their own. */
static void
fill_cpus(const struct pod *pod, struct bitset *cpus)
{
    const struct allocation *a = pod->status.allocation;
    const char *asked = string_map_find(&pod->spec.containers.items[0].resources.requests, "cpu");
    int64_t milli = asked != NULL ? quantity_text_milli(asked) : 0;
    int64_t n = milli > 1000 ? (milli + 999) / 1000 : 1;

    if (a != NULL && a->cpus != NULL && cpuset_parse(a->cpus, cpus, NULL) == 0)
        return;
    for (unsigned i = 0; i < n && i < BITSET_BITS; i++)
        bitset_add(cpus, i);
}

/* In the order in which the job's variables list them (pods/environment.c). */
static unsigned
count_gpus(const struct topology *t, const struct allocation *a)
{
    unsigned count = 0;

    for (unsigned i = 0; t != NULL && a != NULL && i < t->n_devices; i++)
        for (unsigned j = 0; j < a->devices.count && strcmp(t->devices[i].type, "gpu") == 0; j++)
            count += strcmp(a->devices.items[j], t->devices[i].name) == 0;
    return count;
}

/* A pod that asked for none has no limit but what the node has. */
static int64_t
find_memory(const struct pod *pod, const struct topology *t)
{
    const char *asked =
        string_map_find(&pod->spec.containers.items[0].resources.requests, "memory");
    uint64_t sum = 0;

    if (asked != NULL)
        return quantity_text_value(asked);
    for (unsigned i = 0; t != NULL && i < t->n_numa; i++)
        sum += t->numa[i].memory_bytes;
    return (int64_t)sum;
}

/* The CPUs of a pod may change. */
static void
fill_order(struct step_cpu_order *order, const struct topology *t, const struct pod *pod,
           struct step_place *p)
{
    if (!bitset_equals(&order->of, &p->cpus)) {
        order->of = p->cpus;
        free(order->cpus);
        order->cpus = xnew_array(uint16_t, bitset_count(&p->cpus));
        if (pod->status.allocation == NULL || pod->status.allocation->cpus == NULL
            || step_order_make(&p->cpus, t, order->cpus) == NULL) {
            free(order->cpus);
            order->cpus = NULL;
        }
    }
    p->order = order->cpus;
}

void
step_place_fill(const struct agent_context *agent, const struct object *object,
                struct step_cpu_order *order, struct step_place *p)
{
    const struct pod *pod = pod_of(object);

    p->name = agent->node;
    fill_cpus(pod, &p->cpus);
    fill_order(order, agent->topology, pod, p);
    p->gpus = count_gpus(agent->topology, pod->status.allocation);
    p->memory_bytes = find_memory(pod, agent->topology);
}
