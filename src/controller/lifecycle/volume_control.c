/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/volume_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/chore.h"
#include "controller/lifecycle/stock.h"
#include "controller/lifecycle/volume_state.h"
#include "controller/lifecycle/warehouse.h"
#include "controller/lifecycle/workqueue.h"
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

void
volume_patch(struct chore *chore,
             struct arena *arena,
             const struct object *object,
             const char *subresource,
             struct json *body)
{
    chore_call(chore,
               arena,
               &(struct client_request){
                   .verb = CLIENT_MERGE_PATCH,
                   .kind = object->kind,
                   .namespace = object->meta->namespace,
                   .name = object->meta->name,
                   .subresource = subresource,
                   .body = body,
               });
}

static bool
has_synced(const struct volume_control *vc)
{
    return stock_has_synced(vc->s.stock)
           && warehouse_has_synced(vc->s.warehouse);
}

static void
work(const char *key, void *context)
{
    struct volume_control *vc = context;
    struct chore *chore = chore_begin(vc->s.client, vc->queue, key);
    const char *slash = strchr(key, '/');
    CLEANUP_FREE char *namespace =
        slash != NULL ? xstrndup(key, (size_t)(slash - key)) : NULL;
    const struct object *object =
        slash != NULL
            ? warehouse_find_claim(vc->s.warehouse, namespace, slash + 1)
            : warehouse_find_volume(vc->s.warehouse, key);

    if (object != NULL && slash != NULL)
        claim_pass(vc, chore, object);
    else if (object != NULL)
        volume_pass(vc, chore, object);
    chore_end(chore);
}

/* --- what makes a look due ------------------------------------------------ */

static void
add(const struct object *object, void *context)
{
    struct volume_control *vc = context;
    char key[OBJECT_KEY_SIZE];

    object_key(object, key);
    workqueue_add(vc->queue, key);
}

static void
on_claim(const struct object *old_claim,
         const struct object *new_claim,
         void *context)
{
    struct volume_control *vc = context;
    const struct object *claim = new_claim != NULL ? new_claim : old_claim;
    const struct object *volume;
    char key[OBJECT_KEY_SIZE];

    object_key(claim, key);
    if (new_claim != NULL
        && !persistent_volume_claim_is_bound(
            persistent_volume_claim_of(new_claim))) {
        map_put(vc->unbound, key, vc);
    } else {
        map_remove(vc->unbound, key);
        free(map_remove(vc->pauses, key));
    }
    if (!has_synced(vc))
        return;
    if (new_claim != NULL)
        workqueue_add(vc->queue, key);
    volume = warehouse_find_aside(vc->s.warehouse, claim);
    if (volume != NULL)
        add(volume, vc);
}

static bool
can_be_had(const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);

    return v->spec.claim == NULL
           && persistent_volume_is_in_phase(v, "Available");
}

/* Somebody may have waited for a volume like that. */
static void
offer(struct volume_control *vc)
{
    size_t at = 0;
    const char *key;
    void *value;

    while (map_next(vc->unbound, &at, &key, &value))
        workqueue_add(vc->queue, key);
}

static void
add_claim_of(struct volume_control *vc, const struct object *volume)
{
    const struct object_reference *ref =
        persistent_volume_of(volume)->spec.claim;
    const struct object *claim =
        ref != NULL && ref->name != NULL && ref->namespace != NULL
            ? warehouse_find_claim(vc->s.warehouse, ref->namespace, ref->name)
            : NULL;

    if (claim != NULL)
        add(claim, vc);
}

static void
on_volume(const struct object *old_volume,
          const struct object *new_volume,
          void *context)
{
    struct volume_control *vc = context;

    if (!has_synced(vc))
        return;
    add_claim_of(vc, new_volume != NULL ? new_volume : old_volume);
    if (new_volume == NULL)
        return;
    add(new_volume, vc);
    if (can_be_had(new_volume)
        && (old_volume == NULL || !can_be_had(old_volume)))
        offer(vc);
}

static void
on_class(const struct object *old_class,
         const struct object *new_class,
         void *context)
{
    struct volume_control *vc = context;

    (void)old_class;
    if (new_class != NULL && has_synced(vc))
        offer(vc);
}

/* A node that is gone gives nothing back any more; one with scratch may have
 * been waited for.
 */
static void
on_node(const struct object *old_node,
        const struct object *new_node,
        void *context)
{
    struct volume_control *vc = context;

    if (!has_synced(vc))
        return;
    if (new_node == NULL)
        warehouse_visit_volumes(vc->s.warehouse, add, vc);
    else if (node_scratch_bytes(node_of(new_node)) > 0
             && (old_node == NULL
                 || node_scratch_bytes(node_of(old_node))
                        != node_scratch_bytes(node_of(new_node))
                 || node_is_ready(node_of(old_node))
                        != node_is_ready(node_of(new_node))))
        offer(vc);
}

static void
on_synced(void *context)
{
    struct volume_control *vc = context;

    if (!has_synced(vc))
        return;
    warehouse_visit_claims(vc->s.warehouse, add, vc);
    warehouse_visit_volumes(vc->s.warehouse, add, vc);
}

struct volume_control *
volume_control_new(const struct volume_control_settings *settings)
{
    struct volume_control *vc = xnew(struct volume_control);

    vc->s = *settings;
    vc->unbound = map_new();
    vc->pauses = map_new();
    vc->queue = workqueue_new(settings->loop, PARALLEL, work, vc);
    vc->event_recorder = event_recorder_new(settings->client,
                                            settings->clock,
                                            "persistentvolume-controller",
                                            NULL);
    stock_listen(settings->stock,
                 &(struct stock_listener){
                     .node_changed = on_node,
                     .synced = on_synced,
                     .context = vc,
                 });
    warehouse_listen(settings->warehouse,
                     &(struct warehouse_listener){
                         .claim_changed = on_claim,
                         .volume_changed = on_volume,
                         .class_changed = on_class,
                         .synced = on_synced,
                         .context = vc,
                     });
    return vc;
}

void
volume_control_free(struct volume_control *vc)
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
