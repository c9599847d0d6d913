/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/partition_choice.h"

#include <string.h>

#include "controller/apiserver/access/start_rights.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/binding.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct partition_search {
    const struct request *q;
    const struct pod *pod;
};

/* NULL also for a partition that the owner may not use any more. */
static const struct object *
find_partition(void *context, UNUSED const char *kind, const char *name)
{
    const struct partition_search *c = context;
    CLEANUP_STRBUF struct strbuf why = STRBUF_INIT;

    return start_rights_refuse(c->q->server->start_rights, c->pod, &partition_kind, name, &why)
               ? NULL
               : store_find(c->q->server->store, STORE_PENDING, &partition_kind, NULL, name);
}

/* Whether the pod has all CPUs of the node. Without cores of its own on a node
 * whose CPUs are known it has not.
 */
static bool
is_whole(const struct allocation *a, const struct object *node)
{
    const char *cpus = json_get_text(node_of(node)->status.topology, "cpus");
    struct bitset all = {0}, own = {0}, idle = {0};

    if (a == NULL || cpus == NULL)
        return true;
    if (a->cpus == NULL || cpuset_parse(cpus, &all, NULL) < 0
        || cpuset_parse(a->cpus, &own, NULL) < 0
        || (a->withheld != NULL && cpuset_parse(a->withheld, &idle, NULL) < 0))
        return false;
    bitset_or(&own, &idle);
    return bitset_equals(&own, &all);
}

bool
partition_choice_is_open(const struct object *pod)
{
    const struct placement *p = pod_of(pod)->spec.placement;

    return p != NULL && p->partition != NULL && strchr(p->partition, ',') != NULL
           && meta_controller_of(pod->meta, &job_kind) != NULL;
}

void
partition_choice_write(struct request *q, const struct object *pod, struct json *spec,
                       const struct binding *binding)
{
    const struct object *node;
    const struct partition *choice;
    struct json *placement;
    struct partition_search search = {q, pod_of(pod)};

    if (!partition_choice_is_open(pod))
        return;
    node = store_find(q->server->store, STORE_PENDING, &node_kind, NULL, binding->target.name);
    choice =
        node != NULL
            ? partition_find_start(pod_of(pod)->spec.placement->partition, &node->meta->labels,
                                   is_whole(binding->allocation, node), find_partition, &search)
            : NULL;
    if (choice == NULL)
        return;
    placement = json_dup(q->arena, json_get(spec, "placement"));
    json_set_string(q->arena, placement, "partition", choice->meta.name);
    if (partition_is_of_one_pod(choice))
        json_set_bool(q->arena, placement, "wholeNode", true);
    json_set(q->arena, spec, "placement", placement);
}
