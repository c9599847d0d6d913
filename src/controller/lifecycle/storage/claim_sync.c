/* SPDX-License-Identifier: Apache-2.0 */
/* claim_sync.c - reconciles one claim */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/storage/provision.h"
#include "controller/lifecycle/storage/volume_state.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/storage/volume_match.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

#define PAUSE_MS 10000 /* between tries to provision a volume */

struct claim_sync {
    struct volume_controller *vc;
    struct pending_calls *calls;
    const struct object *claim;
    const struct persistent_volume_claim *c;
    const struct object *class; /* or NULL */
};

static void
record_event(const struct claim_sync *sync, enum recorded_event_kind kind, const char *reason,
             const char *message)
{
    event_recorder_record(sync->vc->event_recorder, sync->claim, kind, reason, message);
}

/* --- writing -------------------------------------------------------------- */

static void
set_phase(const struct claim_sync *sync, const char *phase)
{
    struct arena *arena;
    struct json *body;

    if (sync->c->status.phase != NULL && strcmp(sync->c->status.phase, phase) == 0)
        return;
    arena = arena_new(0);
    body = json_object(arena);
    json_set_string(arena, json_make_object(arena, body, "status"), "phase", phase);
    pending_calls_patch(sync->calls, arena, sync->claim, "status", body);
}

/* The claim's capacity is that of the volume. */
static void
set_bound(const struct claim_sync *sync, const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    struct arena *arena;
    struct json *body, *status, *modes;

    if (sync->c->status.phase != NULL && strcmp(sync->c->status.phase, "Bound") == 0)
        return;
    arena = arena_new(0);
    body = json_object(arena);
    status = json_make_object(arena, body, "status");
    modes = json_array(arena);
    for (unsigned i = 0; i < v->spec.access_modes.count; i++)
        json_append(arena, modes, json_string(arena, v->spec.access_modes.items[i]));
    json_set_string(arena, status, "phase", "Bound");
    json_set(arena, status, "accessModes", modes);
    json_set_string(arena, json_make_object(arena, status, "capacity"), "storage",
                    string_map_find(&v->spec.capacity, "storage"));
    pending_calls_patch(sync->calls, arena, sync->claim, "status", body);
}

/* Sets the volume's claimRef: from then on it belongs to this claim alone. */
static void
take_volume(const struct claim_sync *sync, const struct object *volume)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *spec = json_make_object(arena, body, "spec");
    struct json *ref = json_make_object(arena, spec, "claimRef");

    if (persistent_volume_of(volume)->spec.claim == NULL)
        json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_BOUND_BY,
                        "yes");
    json_set_string(arena, meta, "resourceVersion", volume->meta->resource_version);
    json_set_string(arena, ref, "apiVersion", "v1");
    json_set_string(arena, ref, "kind", "PersistentVolumeClaim");
    json_set_string(arena, ref, "namespace", sync->claim->meta->namespace);
    json_set_string(arena, ref, "name", sync->claim->meta->name);
    json_set_string(arena, ref, "uid", sync->claim->meta->uid);
    pending_calls_patch(sync->calls, arena, volume, NULL, body);
}

static void
name_volume(const struct claim_sync *sync, const struct object *volume)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *annotations = json_make_object(arena, meta, "annotations");

    json_set_string(arena, annotations, ANNOTATION_BIND_COMPLETED, "yes");
    if (sync->c->spec.volume_name == NULL || *sync->c->spec.volume_name == '\0')
        json_set_string(arena, annotations, ANNOTATION_BOUND_BY, "yes");
    json_set_string(arena, meta, "uid", sync->claim->meta->uid);
    json_set_string(arena, json_make_object(arena, body, "spec"), "volumeName", volume->meta->name);
    pending_calls_patch(sync->calls, arena, sync->claim, NULL, body);
}

/* Binds both objects: first the volume's claimRef, then the claim's volumeName.
 */
static void
bind(const struct claim_sync *sync, const struct object *volume)
{
    const struct object_reference *ref = persistent_volume_of(volume)->spec.claim;

    if (ref == NULL || ref->uid == NULL || *ref->uid == '\0') {
        take_volume(sync, volume); /* continues when the cache has the change */
        return;
    }
    name_volume(sync, volume);
    set_bound(sync, volume);
}

/* --- provisioning --------------------------------------------------------- */

static void
forget_node(const struct claim_sync *sync)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");

    json_set(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_SELECTED_NODE,
             json_null(arena));
    pending_calls_patch(sync->calls, arena, sync->claim, NULL, body);
}

/* The node failed to make the volume. If a scheduler chose the node, it may
 * choose another; otherwise an event reports the failure.
 */
static void
retract(const struct claim_sync *sync, const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    char key[OBJECT_KEY_SIZE];
    int64_t *until;

    if (volume->meta->deleted_at_us != 0)
        return;
    if (persistent_volume_claim_node(sync->c) != NULL) {
        forget_node(sync); /* continues when the cache has the change */
        return;
    }
    record_event(sync, RECORD_WARNING, EVENT_PROVISIONING_FAILED,
                 v->status.message != NULL ? v->status.message
                                           : "the node could not create the volume");
    object_key(sync->claim, key);
    until = xnew(int64_t);
    *until = clock_monotonic_us(sync->vc->s.clock) + PAUSE_MS * INT64_C(1000);
    free(map_put(sync->vc->pauses, key, until));
    pending_calls_delete(sync->calls, volume);
}

/* An external provisioner makes volumes of this class; the annotation asks it
 * to.
 */
static void
ask_others(const struct claim_sync *sync, const struct storage_class *class)
{
    const char *asked = string_map_find(&sync->claim->meta->annotations, ANNOTATION_PROVISIONER);
    struct arena *arena;
    struct json *body, *meta;

    if (asked != NULL && strcmp(asked, class->provisioner) == 0)
        return;
    arena = arena_new(0);
    body = json_object(arena);
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_PROVISIONER,
                    class->provisioner);
    pending_calls_patch(sync->calls, arena, sync->claim, NULL, body);
}

static const struct object *
find_node(const struct claim_sync *sync)
{
    const char *chosen = persistent_volume_claim_node(sync->c);

    if (chosen != NULL)
        return object_cache_find(sync->vc->s.cache, &node_kind, NULL, chosen);
    return provision_choose(sync->vc->s.cache, sync->claim, sync->class);
}

/* Milliseconds until the next try to provision; 0: try now. */
static int64_t
pause_left(const struct claim_sync *sync)
{
    char key[OBJECT_KEY_SIZE];
    const int64_t *until;
    int64_t left;

    if (persistent_volume_claim_node(sync->c) != NULL)
        return 0; /* the scheduler has its own backoff */
    object_key(sync->claim, key);
    until = map_find(sync->vc->pauses, key);
    left = until != NULL ? *until - clock_monotonic_us(sync->vc->s.clock) : 0;
    return left > 0 ? left / 1000 + 1 : 0;
}

static void
provision(const struct claim_sync *sync)
{
    const struct object *node;
    struct arena *arena;
    int64_t left_ms = pause_left(sync);

    if (!storage_class_is_scratch(storage_class_of(sync->class))) {
        ask_others(sync, storage_class_of(sync->class));
        return;
    }
    if (left_ms > 0) {
        pending_calls_retry_after(sync->calls, left_ms);
        return;
    }
    node = find_node(sync);
    if (node == NULL || node_of(node)->status.scratch == NULL) {
        record_event(sync, RECORD_WARNING, EVENT_PROVISIONING_FAILED,
                     node != NULL ? "the selected node has no scratch directory"
                                  : "no node has enough free scratch");
        if (persistent_volume_claim_node(sync->c) != NULL)
            forget_node(sync);
        return;
    }
    arena = arena_new(0);
    pending_calls_send(sync->calls, arena,
                       &(struct client_request){
                           .verb = CLIENT_CREATE,
                           .kind = &persistent_volume_kind,
                           .body = provision_body(arena, sync->claim, sync->class, node),
                       });
}

/* --- finding a volume ----------------------------------------------------- */

struct claim_volume_search {
    const struct persistent_volume_claim *claim;
    const struct object *best;
};

static void
check_volume(const struct object *volume, void *context)
{
    struct claim_volume_search *s = context;
    const struct persistent_volume *v = persistent_volume_of(volume);

    if (v->spec.claim == NULL && volume_suits(v, s->claim)
        && (s->best == NULL || volume_is_better(v, persistent_volume_of(s->best))))
        s->best = volume;
}

/* For a claim that a pod brought, the scheduler records an event on the pod. */
static void
record_wait(const struct claim_sync *sync)
{
    if (meta_controller_of(sync->claim->meta, &pod_kind) == NULL)
        record_event(sync, RECORD_STEP, EVENT_WAIT_FOR_FIRST_CONSUMER,
                     "waiting for first consumer to be created before binding");
}

static void
record_nothing_suits(const struct claim_sync *sync)
{
    const char *class = persistent_volume_claim_class(sync->c);
    bool is_unknown = *class != '\0' && sync->class == NULL;
    CLEANUP_FREE char *text = NULL;

    if (*class == '\0')
        text = xstrdup("no persistent volumes available for this claim and no "
                       "storage class is set");
    else if (is_unknown)
        text = xasprintf("storageclass.storage.k8s.io \"%s\" not found", class);
    else
        text = xasprintf("no persistent volume of the storage class \"%s\" is "
                         "available, and the class has no provisioner",
                         class);
    if (is_unknown)
        record_event(sync, RECORD_WARNING, EVENT_PROVISIONING_FAILED, text);
    else
        record_event(sync, RECORD_NORMAL, EVENT_FAILED_BINDING, text);
}

static void
find_or_make(const struct claim_sync *sync)
{
    bool waits = sync->class != NULL && storage_class_waits(storage_class_of(sync->class));
    struct claim_volume_search s = {.claim = sync->c};

    if (waits && persistent_volume_claim_node(sync->c) == NULL) {
        record_wait(sync); /* the scheduler chooses the node */
        return;
    }
    if (!waits)
        object_cache_visit(sync->vc->s.cache, &persistent_volume_kind, check_volume, &s);
    if (s.best != NULL)
        bind(sync, s.best);
    else if (sync->class != NULL && storage_class_provisions(storage_class_of(sync->class)))
        provision(sync);
    else if (!waits)
        record_nothing_suits(sync);
}

static void
record_mismatch(const struct claim_sync *sync)
{
    record_event(sync, RECORD_WARNING, EVENT_VOLUME_MISMATCH,
                 "Cannot bind to requested volume: it is too small, or of another "
                 "class or mode, or not available");
}

/* Binds the claim to the volume that is pre-bound to it. */
static void
take_prebound(const struct claim_sync *sync, const struct object *volume)
{
    const struct persistent_volume *v = persistent_volume_of(volume);
    bool is_made = persistent_volume_scratch_node(v) != NULL;

    if (!volume_is_for(v, sync->c))
        return; /* bound to a deleted claim of that name: released first */
    if (is_made && persistent_volume_is_in_phase(v, "Failed"))
        retract(sync, volume);
    else if (volume->meta->deleted_at_us != 0
             || (is_made && !persistent_volume_is_in_phase(v, "Available")
                 && !persistent_volume_is_in_phase(v, "Bound")))
        return; /* not made yet, or being removed */
    else if (volume_suits(v, sync->c))
        bind(sync, volume);
    else
        record_mismatch(sync);
}

/* --- the sync ------------------------------------------------------------- */

/* Binds the claim to the volume in its spec.volumeName. */
static void
take_named(const struct claim_sync *sync)
{
    const struct object *volume = object_cache_find(sync->vc->s.cache, &persistent_volume_kind,
                                                    NULL, sync->c->spec.volume_name);

    if (volume == NULL)
        return; /* the claim is queued again when the volume appears */
    if (persistent_volume_of(volume)->spec.claim != NULL)
        take_prebound(sync, volume);
    else if (!volume_suits(persistent_volume_of(volume), sync->c))
        record_mismatch(sync);
    else
        take_volume(sync, volume);
}

static void
lose(const struct claim_sync *sync, const char *reason, const char *message)
{
    if (sync->c->status.phase == NULL || strcmp(sync->c->status.phase, "Lost") != 0)
        record_event(sync, RECORD_WARNING, reason, message);
    set_phase(sync, "Lost");
}

static void
keep_bound(const struct claim_sync *sync)
{
    const struct object *volume = object_cache_find(sync->vc->s.cache, &persistent_volume_kind,
                                                    NULL, sync->c->spec.volume_name);

    if (volume == NULL)
        lose(sync, EVENT_CLAIM_LOST,
             "Bound claim has lost its PersistentVolume. Any data on the "
             "volume is lost!");
    else if (persistent_volume_of(volume)->spec.claim == NULL)
        take_volume(sync, volume);
    else if (!volume_is_for(persistent_volume_of(volume), sync->c))
        lose(sync, EVENT_CLAIM_MISBOUND,
             "Two claims are bound to the same volume, this one is bound "
             "incorrectly");
    else
        set_bound(sync, volume);
}

void
claim_sync(struct volume_controller *vc, struct pending_calls *calls, const struct object *claim)
{
    const struct persistent_volume_claim *c = persistent_volume_claim_of(claim);
    const struct claim_sync sync = {
        .vc = vc,
        .calls = calls,
        .claim = claim,
        .c = c,
        .class = object_cache_find(vc->s.cache, &storage_class_kind, NULL,
                                   persistent_volume_claim_class(c)),
    };
    const struct object *prebound;

    if (claim->meta->deleted_at_us != 0)
        return;
    prebound = object_cache_find_prebound(vc->s.cache, claim);
    if (persistent_volume_claim_is_bound(c))
        keep_bound(&sync);
    else if (c->spec.volume_name != NULL && *c->spec.volume_name != '\0')
        take_named(&sync);
    else if (prebound != NULL)
        take_prebound(&sync, prebound);
    else
        find_or_make(&sync);
}
