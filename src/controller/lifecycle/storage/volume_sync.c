/* SPDX-License-Identifier: Apache-2.0 */
/* volume_sync.c - reconciles one volume */
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "controller/lifecycle/storage/volume_state.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/arena.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

static void
set_phase(struct pending_calls *calls, const struct object *volume, const char *phase,
          const char *message)
{
    struct arena *arena;
    struct json *body, *status;

    if (persistent_volume_is_in_phase(persistent_volume_of(volume), phase))
        return;
    arena = arena_new(0);
    body = json_object(arena);
    status = json_make_object(arena, body, "status");
    json_set_string(arena, status, "phase", phase);
    json_set(arena, status, "message",
             message != NULL ? json_string(arena, message) : json_null(arena));
    pending_calls_patch(calls, arena, volume, "status", body);
}

/* Removes the finalizer once the agent has removed the directory, or the node
 * is gone, so that no agent will.
 */
static void
release_scratch(const struct volume_controller *vc, struct pending_calls *calls,
                const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    const char *node = persistent_volume_scratch_node(v);
    bool is_removed = v->status.reason != NULL && strcmp(v->status.reason, REASON_REMOVED) == 0;

    if (meta_has_finalizer(volume->meta, FINALIZER_SCRATCH)
        && (is_removed || node == NULL
            || (object_cache_find(vc->s.cache, &node_kind, NULL, node) == NULL
                && !object_cache_is_damaged(vc->s.cache, &node_kind, NULL, node, NULL))))
        pending_calls_remove_finalizer(calls, volume, FINALIZER_SCRATCH);
}

static void
reclaim(const struct volume_controller *vc, struct pending_calls *calls,
        const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    const char *policy = v->spec.reclaim_policy != NULL ? v->spec.reclaim_policy : "Retain";

    if (!persistent_volume_is_in_phase(v, "Released")
        && !persistent_volume_is_in_phase(v, "Failed")) {
        set_phase(calls, volume, "Released", NULL);
        return; /* continues when the cache has the change */
    }
    if (strcmp(policy, "Retain") == 0)
        return;
    if (strcmp(policy, "Delete") == 0 && persistent_volume_scratch_node(v) != NULL) {
        pending_calls_delete(calls, volume);
        return;
    }
    if (string_map_find(&volume->meta->annotations, ANNOTATION_PROVISIONED_BY) != NULL
        || persistent_volume_is_in_phase(v, "Failed"))
        return; /* left to its provisioner, or reported already */
    event_recorder_record(vc->event_recorder, volume, RECORD_WARNING, EVENT_VOLUME_FAILED_DELETE,
                          "the volume cannot be emptied automatically: empty it, then delete "
                          "it, or remove its claimRef");
    set_phase(calls, volume, "Failed",
              "the volume cannot be emptied automatically: empty it, then "
              "delete it, or remove its claimRef");
}

/* The claim is bound to another volume. */
static void
stray(struct pending_calls *calls, const struct object *volume)
{
    struct arena *arena;
    struct json *body;

    if (persistent_volume_scratch_node(persistent_volume_of(volume)) != NULL) {
        pending_calls_delete(calls, volume);
        return;
    }
    if (string_map_find(&volume->meta->annotations, ANNOTATION_BOUND_BY) == NULL)
        return; /* pre-bound by a user, who may remove the claimRef */
    arena = arena_new(0);
    body = json_object(arena);
    json_set(arena, json_make_object(arena, body, "spec"), "claimRef", json_null(arena));
    pending_calls_patch(calls, arena, volume, NULL, body);
}

static void
follow_claim(struct volume_controller *vc, struct pending_calls *calls, const struct object *volume,
             const struct object *claim)
{
    const struct persistent_volume_claim *c = persistent_volume_claim_of(claim);
    const char *name = c->spec.volume_name;
    char key[OBJECT_KEY_SIZE];

    if (persistent_volume_claim_is_bound(c) && strcmp(name, volume->meta->name) != 0) {
        stray(calls, volume);
        return;
    }
    if (persistent_volume_claim_is_bound(c)) {
        set_phase(calls, volume, "Bound", NULL);
        return;
    }
    object_key(claim, key);
    workqueue_add(vc->queue, key);
}

void
volume_sync(struct volume_controller *vc, struct pending_calls *calls, const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    const struct object_reference *ref = v->spec.claim;
    const struct object *claim;

    if (volume->meta->deleted_at_us != 0)
        release_scratch(vc, calls, volume);
    if (ref == NULL || ref->uid == NULL || *ref->uid == '\0') {
        if (volume->meta->deleted_at_us == 0)
            set_phase(calls, volume, "Available", NULL);
        return;
    }
    claim =
        object_cache_find(vc->s.cache, &persistent_volume_claim_kind, ref->namespace, ref->name);
    if (claim == NULL || strcmp(claim->meta->uid, ref->uid) != 0)
        reclaim(vc, calls, volume);
    else if (volume->meta->deleted_at_us == 0)
        follow_claim(vc, calls, volume, claim);
}
