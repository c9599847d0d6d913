/* SPDX-License-Identifier: Apache-2.0 */
/* Queueing hints: events that may help a pod that VolumeBinding rejected. */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/volume/claims.h"
#include "controller/scheduler/plugins/volume/volume_binding.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/storage_class.h"

/* A volume with a claimRef helps only pods that use that claim. */
static bool
volume_hint(void *self, const struct pod_view *pod, const struct object *old_object,
            const struct object *new_object)
{
    const struct persistent_volume *v = persistent_volume_of(new_object);
    const struct object_reference *claim = v->spec.claim;

    (void)self, (void)old_object;
    return claim == NULL || claim->name == NULL
           || claims_include(pod, claim->namespace, claim->name);
}

static bool
same_topologies(const struct storage_class *a, const struct storage_class *b)
{
    if (a->allowed_topologies.count != b->allowed_topologies.count)
        return false;
    for (unsigned i = 0; i < a->allowed_topologies.count; i++) {
        const struct topology_term *x = &a->allowed_topologies.items[i];
        const struct topology_term *y = &b->allowed_topologies.items[i];

        if (x->labels.count != y->labels.count)
            return false;
        for (unsigned j = 0; j < x->labels.count; j++) {
            const struct topology_requirement *r = &x->labels.items[j];
            const struct topology_requirement *s = &y->labels.items[j];

            if (strcmp(r->key, s->key) != 0 || r->values.count != s->values.count)
                return false;
            for (unsigned k = 0; k < r->values.count; k++)
                if (strcmp(r->values.items[k], s->values.items[k]) != 0)
                    return false;
        }
    }
    return true;
}

static bool
class_hint(void *self, const struct pod_view *pod, const struct object *old_object,
           const struct object *new_object)
{
    (void)self, (void)pod;
    return old_object == NULL
           || !same_topologies(storage_class_of(old_object), storage_class_of(new_object));
}

const struct wake volume_wakes[VOLUME_WAKES] = {
    {EVENT_STORAGE_CLASS, ACTION_ADD | ACTION_UPDATE, class_hint},
    {EVENT_PERSISTENT_VOLUME_CLAIM, ACTION_ADD | ACTION_UPDATE, claims_hint},
    {EVENT_PERSISTENT_VOLUME, ACTION_ADD | ACTION_UPDATE, volume_hint},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, NULL},
    {EVENT_STORAGE_CAPACITY, ACTION_ALL, NULL},
    WAKE_NEW_NODES,
};
