/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/summary/node_uses.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct node_uses {
    struct map *nodes; /* name to struct node_use; only nodes with pods */
};

struct node_uses *
node_uses_new(void)
{
    struct node_uses *uses = xnew(struct node_uses);

    uses->nodes = map_new();
    return uses;
}

void
node_uses_free(struct node_uses *uses)
{
    size_t at = 0;
    void *value;

    if (uses == NULL)
        return;
    while (map_next(uses->nodes, &at, NULL, &value))
        free(value);
    map_free(uses->nodes);
    free(uses);
}

/* The pod, if it uses resources of a node, or NULL. */
static const struct pod *
holder_of(const struct object *object)
{
    const struct pod *pod;

    if (object == NULL)
        return NULL;
    pod = pod_of(object);
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0' && !pod_is_finished(pod)
               ? pod
               : NULL;
}

/* Most changes of a running pod are of its status and do not change this. */
static bool
holds_the_same(const struct pod *a, const struct pod *b)
{
    const struct allocation *x, *y;

    if (a == NULL || b == NULL)
        return a == b;
    x = a->status.allocation;
    y = b->status.allocation;
    return strcmp(a->spec.node_name, b->spec.node_name) == 0
           && pod_has_yielded(a) == pod_has_yielded(b)
           && (x == NULL || y == NULL ? x == y : allocation_equals(x, y));
}

static void
add(struct node_uses *uses, const struct pod *pod, int sign)
{
    struct node_use *sum = map_find(uses->nodes, pod->spec.node_name);
    struct node_use use = {0};

    if (sum == NULL) {
        sum = xnew(struct node_use);
        map_put(uses->nodes, pod->spec.node_name, sum);
    }
    node_use_add_pod(&use, pod);
    sum->cpus += sign * use.cpus;
    sum->memory_bytes += sign * use.memory_bytes;
    sum->gpus += sign * use.gpus;
    sum->shared_milli += sign * use.shared_milli;
    sum->pods += sign * use.pods;
    sum->n_yielded += sign * use.n_yielded;
    if (sum->pods == 0)
        free(map_remove(uses->nodes, pod->spec.node_name));
}

void
node_uses_moved(struct node_uses *uses, const struct object *before, const struct object *after)
{
    const struct pod *was, *is;

    was = holder_of(before);
    is = holder_of(after);
    if (holds_the_same(was, is))
        return;
    if (was != NULL)
        add(uses, was, -1);
    if (is != NULL)
        add(uses, is, 1);
}

struct node_use
node_uses_get(const struct node_uses *uses, const char *node_name)
{
    const struct node_use *use = map_find(uses->nodes, node_name);

    return use != NULL ? *use : (struct node_use){0};
}
