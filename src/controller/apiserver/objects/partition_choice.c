/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/partition_choice.h"

#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* Returns the first of the partitions that has the node and is up, else the
 * first that has the node: one that has gone down by now is better than none.
 * NULL: none has the node any more.
 */
static const char *
find_choice(struct request *q, const char *names, const struct object *node)
{
    const char *choice = NULL;
    size_t n;

    for (const char *at = names; (n = partition_next_name(&at)) > 0; at += n) {
        const char *name = arena_strndup(q->arena, at, n);
        const struct object *object =
            store_find(q->server->store, STORE_PENDING, &partition_kind, NULL, name);

        if (object == NULL || !partition_has_node(partition_of(object), &node->meta->labels))
            continue;
        if (partition_starts_jobs(partition_of(object)))
            return name;
        if (choice == NULL)
            choice = name;
    }
    return choice;
}

bool
partition_choice_is_open(const struct request *q, const struct object *pod)
{
    const struct placement *p = pod_of(pod)->spec.placement;

    return !q->server->policy->is_conformance && p != NULL && p->partition != NULL
           && strchr(p->partition, ',') != NULL && meta_controller_of(pod->meta, &job_kind) != NULL;
}

void
partition_choice_write(struct request *q, const struct object *pod, struct json *spec,
                       const char *node_name)
{
    const struct object *node;
    struct json *placement;
    const char *choice;

    if (!partition_choice_is_open(q, pod))
        return;
    node = store_find(q->server->store, STORE_PENDING, &node_kind, NULL, node_name);
    choice = node != NULL ? find_choice(q, pod_of(pod)->spec.placement->partition, node) : NULL;
    if (choice == NULL)
        return;
    placement = json_dup(q->arena, json_get(spec, "placement"));
    json_set_string(q->arena, placement, "partition", choice);
    json_set(q->arena, spec, "placement", placement);
}
