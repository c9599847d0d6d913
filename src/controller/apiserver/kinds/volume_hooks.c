/* SPDX-License-Identifier: Apache-2.0 */
/* volume_hooks.c - volumes and claims: an agent sees those that pods on its node use */
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
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"

struct user_search {
    const char *namespace;
    const char *claim;
    bool found;
};

static bool
visit_user(const struct object *object, void *context)
{
    const struct pod *pod = pod_of(object);
    struct user_search *search = context;
    char buffer[POD_CLAIM_NAME_SIZE];

    if (strcmp(pod->meta.namespace, search->namespace) != 0)
        return true;
    for (unsigned i = 0; i < pod->spec.volumes.count && !search->found; i++) {
        const char *name = pod_volume_claim(pod, &pod->spec.volumes.items[i], buffer);

        search->found = name != NULL && strcmp(name, search->claim) == 0;
    }
    return !search->found;
}

/* Whether a pod that is bound to the agent's node uses the claim. */
static bool
is_used_on_node(const struct request *q, const char *namespace, const char *claim)
{
    struct user_search search = {.namespace = namespace, .claim = claim};

    store_visit_index(q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED, q->principal->node,
                      visit_user, &search);
    return search.found;
}

/* An agent may write the volumes that it made, and read those that its pods
 * use.
 */
static bool
is_volume_on_node(const struct request *q, const struct object *object)
{
    const struct persistent_volume *v = persistent_volume_of(object);
    const char *node = persistent_volume_scratch_node(v);
    const struct object_reference *claim = v->spec.claim;

    if (node != NULL && strcmp(node, q->principal->node) == 0)
        return true;
    return q->route.subresource == SUBRESOURCE_NONE && claim != NULL && claim->namespace != NULL
           && claim->name != NULL && is_used_on_node(q, claim->namespace, claim->name);
}

static bool
is_claim_on_node(const struct request *q, const struct object *claim)
{
    return is_used_on_node(q, claim->meta->namespace, claim->meta->name);
}

/* Users cannot write references to a pod in claims (rule ClaimOwner). */
static bool
measure_claim(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    if (!user_counts_measure(object, ret_uid, ret_count))
        return false;
    if (meta_controller_of(object->meta, &pod_kind) != NULL)
        user_counts_measure_derived(object, ret_count);
    return true;
}

const struct kind_hooks persistent_volume_hooks = {
    .kind = &persistent_volume_kind,
    .wants_node_selector = true,
    .is_on_node = is_volume_on_node,
};

const struct kind_hooks persistent_volume_claim_hooks = {
    .kind = &persistent_volume_claim_kind,
    .find_claim = name_claims_find_of_pod,
    .is_on_node = is_claim_on_node,
    .measure = measure_claim,
};
