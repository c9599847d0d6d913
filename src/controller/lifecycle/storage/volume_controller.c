/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/storage/volume_controller.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "controller/lifecycle/storage/volume_state.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"

#define PARALLEL 16u

static void
work(const char *key, void *context)
{
    struct volume_controller *vc = context;
    struct pending_calls *calls = pending_calls_begin(vc->s.client, vc->queue, key);
    bool is_claim = strchr(key, '/') != NULL;
    const struct object *object = object_cache_find_key(
        vc->s.cache, is_claim ? &persistent_volume_claim_kind : &persistent_volume_kind, key);

    if (object != NULL && is_claim)
        claim_sync(vc, calls, object);
    else if (object != NULL)
        volume_sync(vc, calls, object);
    pending_calls_end(calls);
}

/* --- events that queue a claim or a volume -------------------------------- */

static void
add(const struct object *object, void *context)
{
    struct volume_controller *vc = context;
    char key[OBJECT_KEY_SIZE];

    object_key(object, key);
    workqueue_add(vc->queue, key);
}

static void
on_claim(const struct object *old_claim, const struct object *new_claim, void *context)
{
    struct volume_controller *vc = context;
    const struct object *claim = new_claim != NULL ? new_claim : old_claim;
    const struct object *volume;
    char key[OBJECT_KEY_SIZE];

    object_key(claim, key);
    if (new_claim != NULL
        && !persistent_volume_claim_is_bound(persistent_volume_claim_of(new_claim))) {
        map_put(vc->unbound, key, vc);
    } else {
        map_remove(vc->unbound, key);
        free(map_remove(vc->pauses, key));
    }
    if (!object_cache_has_synced(vc->s.cache))
        return;
    if (new_claim != NULL)
        workqueue_add(vc->queue, key);
    volume = object_cache_find_prebound(vc->s.cache, claim);
    if (volume != NULL)
        add(volume, vc);
}

static bool
can_be_had(const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);

    return v->spec.claim == NULL && persistent_volume_is_in_phase(v, "Available");
}

/* Queues all unbound claims: one of them may wait for such a volume. */
static void
offer(struct volume_controller *vc)
{
    size_t at = 0;
    const char *key;
    void *value;

    while (map_next(vc->unbound, &at, &key, &value))
        workqueue_add(vc->queue, key);
}

static void
add_claim_of(struct volume_controller *vc, const struct object *volume)
{
    const struct object_reference *ref = persistent_volume_of(volume)->spec.claim;
    const struct object *claim = ref != NULL && ref->name != NULL && ref->namespace != NULL
                                     ? object_cache_find(vc->s.cache, &persistent_volume_claim_kind,
                                                         ref->namespace, ref->name)
                                     : NULL;

    if (claim != NULL)
        add(claim, vc);
}

static void
on_volume(const struct object *old_volume, const struct object *new_volume, void *context)
{
    struct volume_controller *vc = context;

    if (!object_cache_has_synced(vc->s.cache))
        return;
    add_claim_of(vc, new_volume != NULL ? new_volume : old_volume);
    if (new_volume == NULL)
        return;
    add(new_volume, vc);
    if (can_be_had(new_volume) && (old_volume == NULL || !can_be_had(old_volume)))
        offer(vc);
}

static void
on_class(const struct object *old_class, const struct object *new_class, void *context)
{
    struct volume_controller *vc = context;

    (void)old_class;
    if (new_class != NULL && object_cache_has_synced(vc->s.cache))
        offer(vc);
}

/* The volumes of a deleted node can be released without its agent. Claims may
 * wait for a node with scratch.
 */
static void
on_node(const struct object *old_node, const struct object *new_node, void *context)
{
    struct volume_controller *vc = context;

    if (!object_cache_has_synced(vc->s.cache))
        return;
    if (new_node == NULL)
        object_cache_visit(vc->s.cache, &persistent_volume_kind, add, vc);
    else if (node_scratch_bytes(node_of(new_node)) > 0
             && (old_node == NULL
                 || node_scratch_bytes(node_of(old_node)) != node_scratch_bytes(node_of(new_node))
                 || node_is_ready(node_of(old_node)) != node_is_ready(node_of(new_node))))
        offer(vc);
}

static void
on_synced(void *context)
{
    struct volume_controller *vc = context;

    object_cache_visit(vc->s.cache, &persistent_volume_claim_kind, add, vc);
    object_cache_visit(vc->s.cache, &persistent_volume_kind, add, vc);
}

struct volume_controller *
volume_controller_new(const struct volume_controller_settings *settings)
{
    struct volume_controller *vc = xnew(struct volume_controller);

    vc->s = *settings;
    vc->unbound = map_new();
    vc->pauses = map_new();
    vc->queue = workqueue_new(settings->loop, PARALLEL, work, vc);
    vc->event_recorder =
        event_recorder_new(settings->client, settings->clock, "persistentvolume-controller", NULL);
    object_cache_listen(settings->cache, &node_kind, on_node, vc);
    object_cache_on_synced(settings->cache, on_synced, vc);
    object_cache_listen(settings->cache, &persistent_volume_claim_kind, on_claim, vc);
    object_cache_listen(settings->cache, &persistent_volume_kind, on_volume, vc);
    object_cache_listen(settings->cache, &storage_class_kind, on_class, vc);
    return vc;
}

void
volume_controller_free(struct volume_controller *vc)
{
    size_t at = 0;
    void *until;

    if (vc == NULL)
        return;
    event_recorder_free(vc->event_recorder);
    workqueue_free(vc->queue);
    while (map_next(vc->pauses, &at, NULL, &until))
        free(until);
    map_free(vc->pauses);
    map_free(vc->unbound);
    free(vc);
}
