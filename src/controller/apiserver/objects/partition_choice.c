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
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const struct object *
find_partition(void *request, UNUSED const char *kind, const char *name)
{
    const struct request *q = request;

    return store_find(q->server->store, STORE_PENDING, &partition_kind, NULL, name);
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
    const struct partition *choice;
    struct json *placement;

    if (!partition_choice_is_open(q, pod))
        return;
    node = store_find(q->server->store, STORE_PENDING, &node_kind, NULL, node_name);
    choice = node != NULL ? partition_find_start(pod_of(pod)->spec.placement->partition,
                                                 &node->meta->labels, find_partition, q)
                          : NULL;
    if (choice == NULL)
        return;
    placement = json_dup(q->arena, json_get(spec, "placement"));
    json_set_string(q->arena, placement, "partition", choice->meta.name);
    if (partition_is_of_one_pod(choice))
        json_set_bool(q->arena, placement, "wholeNode", true);
    json_set(q->arena, spec, "placement", placement);
}
