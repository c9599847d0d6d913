/* SPDX-License-Identifier: Apache-2.0 */
/* A nomination is an entry of the node's ledger which no sum contains (decision 299): it
 * counts only for pods of its own or a lower priority, and so differs from pod to pod. The map
 * here leads from the pod to its node, since a pod that is bound, deleted or nominated
 * elsewhere must not be looked for on ten thousand nodes.
 */
#include "controller/scheduler/framework/nominator.h"

#include <stdio.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct nomination {
    struct pod_view *pod;
    struct node_view *node;
};

struct nominator {
    struct map *by_pod; /* by uid, to struct nomination */
};

#define POD_KEY_SIZE 600

static const char *
pod_key(const struct pod_view *pod, char buffer[POD_KEY_SIZE])
{
    if (pod->uid != NULL)
        return pod->uid;
    snprintf(buffer, POD_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return buffer;
}

struct nominator *
nominator_new(void)
{
    struct nominator *n = xnew(struct nominator);

    n->by_pod = map_new();
    return n;
}

static void
nomination_free(struct nomination *of)
{
    pod_view_unref(of->pod);
    free(of);
}

void
nominator_free(struct nominator *n)
{
    size_t at = 0;
    void *value;

    if (n == NULL)
        return;
    while (map_next(n->by_pod, &at, NULL, &value))
        nomination_free(value);
    map_free(n->by_pod);
    free(n);
}

/* The entry has no exact holding: that is computed when a filter needs it. */
static void
add_entry(struct node_view *node, const struct pod_view *pod)
{
    ledger_nominate(&node->ledger, &(struct ledger_entry){
                                       .owner = pod,
                                       .state = LEDGER_NOMINATED,
                                       .from_us = INT64_MAX,
                                       .until_us = INT64_MAX,
                                       .requests = &pod->requests,
                                       .nonzero_cpu_milli = pod->nonzero_cpu_milli,
                                       .nonzero_memory_bytes = pod->nonzero_memory_bytes,
                                   });
}

void
nominator_add(struct nominator *n, struct pod_view *pod, struct node_view *node)
{
    char buffer[POD_KEY_SIZE];
    struct nomination *of = xnew(struct nomination);

    of->pod = pod_view_ref(pod);
    of->node = node;
    nominator_remove(n, pod);
    add_entry(node, pod);
    map_put(n->by_pod, pod_key(pod, buffer), of);
}

struct node_view *
nominator_remove(struct nominator *n, const struct pod_view *pod)
{
    char buffer[POD_KEY_SIZE];
    struct nomination *of = map_remove(n->by_pod, pod_key(pod, buffer));
    struct node_view *node;

    if (of == NULL)
        return NULL;
    node = of->node;
    ledger_unnominate(&node->ledger, of->pod);
    nomination_free(of);
    return node;
}

size_t
nominator_count(const struct nominator *n)
{
    return map_count(n->by_pod);
}

const char *
nominator_node(const struct nominator *n, const struct pod_view *pod)
{
    char buffer[POD_KEY_SIZE];
    const struct nomination *of = map_find(n->by_pod, pod_key(pod, buffer));

    return of != NULL ? of->node->name : NULL;
}

void
nominator_visit_nodes(const struct nominator *n,
                      void (*visit)(const struct node_view *node, void *context), void *context)
{
    size_t at = 0;
    void *value;

    while (map_next(n->by_pod, &at, NULL, &value))
        visit(((const struct nomination *)value)->node, context);
}

struct pod_view *
nominator_pod(const struct node_view *node, uint32_t at)
{
    return (struct pod_view *)(uintptr_t)node->ledger.nominated[at].owner;
}

bool
nominator_counts(const struct pod_view *nominated, const struct pod_view *pod)
{
    return nominated->priority >= pod->priority && !pod_view_is_same(nominated, pod);
}
