/* SPDX-License-Identifier: Apache-2.0 */
/* pod_group_hooks.c - the group that Kiln makes for a job counts with the job, and
 * agents read those of their pods
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/kinds/name_claims.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"

/* A PodGroup may name a Job of its user, but only one has the name of that Job.
 */
static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    const struct owner_reference *job = meta_controller_of(object->meta, &job_kind);

    if (!user_counts_measure(object, ret_uid, ret_count))
        return false;
    if (job != NULL && job->name != NULL && strcmp(job->name, object->meta->name) == 0)
        user_counts_measure_derived(object, ret_count);
    return true;
}

struct member_search {
    const struct object *group;
    bool found;
};

static bool
visit_pod(const struct object *pod, void *context)
{
    struct member_search *search = context;
    const char *name = pod_group_named_by(pod);

    search->found = name != NULL && strcmp(name, search->group->meta->name) == 0
                    && strcmp(pod->meta->namespace, search->group->meta->namespace) == 0
                    && object_owner_is_same(pod, search->group);
    return !search->found;
}

/* An agent reads the groups of its pods, for the nodes of the others. */
static bool
has_pod_on_node(const struct request *q, const struct object *group)
{
    struct member_search search = {.group = group};

    store_visit_index(q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED, q->principal->node,
                      visit_pod, &search);
    return search.found;
}

const struct kind_hooks pod_group_hooks = {
    .kind = &pod_group_kind,
    .find_claim = name_claims_find_of_group,
    .is_on_node = has_pod_on_node,
    .measure = measure,
};
