/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeRestrictions - only one pod at a time may use a ReadWriteOncePod claim
 *
 * Extension points:  prefilter (with add and remove), filter
 * Cycle state:       the claims, and how many pods on nodes use them
 * Woken by:          a pod leaving that used one; the claim; nodes
 *
 * Upstream also keeps apart pods that use some kinds of disks; here the API
 * refuses pods with such volumes.
 *
 * Source: kube-scheduler, plugins/volumerestrictions.
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/volume/claims.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/alloc.h"

#define ONE_POD "ReadWriteOncePod"

struct volume_restrictions {
    struct handle *handle;
    uint32_t conflict, claim;
};

/* The claims' names are borrowed from the pod. */
struct usage_note {
    const char **claims;
    unsigned count;
    int64_t users;
};

static const char note_key;

static int
volume_restrictions_make(struct handle *handle, const struct json *args, void **ret_self,
                         struct error *err)
{
    struct volume_restrictions *me = xnew(struct volume_restrictions);

    (void)args, (void)err;
    me->handle = handle;
    me->conflict =
        handle_reason(handle, "node has pod using PersistentVolumeClaim with the same name and "
                              "ReadWriteOncePod access mode");
    me->claim = handle_reason(handle, "a persistentvolumeclaim of the pod");
    *ret_self = me;
    return 0;
}

/* A pod with claims shares no results: the access mode is not in the pod. */
static bool
volume_restrictions_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self, (void)out;
    return !claims_has_any(pod);
}

static void
note_free(void *value)
{
    struct usage_note *note = value;

    free((void *)note->claims);
    free(note);
}

static void *
note_dup(const void *value)
{
    const struct usage_note *note = value;
    struct usage_note *copy = xnew(struct usage_note);

    *copy = *note;
    copy->claims = xmemdup(note->claims, (note->count + 1) * sizeof(*note->claims));
    return copy;
}

static bool
is_for_one_pod(const struct object *claim)
{
    const struct persistent_volume_claim *c = persistent_volume_claim_of(claim);

    for (unsigned i = 0; i < c->spec.access_modes.count; i++)
        if (strcmp(c->spec.access_modes.items[i], ONE_POD) == 0)
            return true;
    return false;
}

static enum verdict
gather(const struct volume_restrictions *me, struct cycle *c, struct usage_note *note)
{
    const struct pod_spec *spec = &c->pod->pod->spec;

    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const char *name = spec->volumes.items[i].claim_name;
        const struct object *claim;

        if (name == NULL)
            continue;
        claim = volume_book_claim(me->handle->volumes, c->pod->namespace, name);
        if (claim == NULL) {
            cycle_set_message(c, "persistentvolumeclaim \"%s\" not found", name);
            return VERDICT_NEVER;
        }
        if (!is_for_one_pod(claim))
            continue;
        note->claims[note->count++] = name;
        note->users += snapshot_claim_users(c->snapshot, c->pod->namespace, name);
    }
    return note->users > 0 ? VERDICT_OK : VERDICT_SKIP;
}

static enum verdict
volume_restrictions_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                              uint32_t *ret_reason)
{
    const struct volume_restrictions *me = self;
    const struct pod_spec *spec = &c->pod->pod->spec;
    struct usage_note *note;
    enum verdict verdict;

    (void)ret_result;
    if (spec->volumes.count == 0)
        return VERDICT_SKIP;
    note = xnew(struct usage_note);
    note->claims = xnew_array(const char *, spec->volumes.count + 1);
    verdict = gather(me, c, note);
    if (verdict == VERDICT_OK)
        cycle_put(c, &note_key, note, note_free, note_dup);
    else
        note_free(note);
    *ret_reason = me->claim;
    return verdict;
}

/* The number of the note's claims that the other pod uses. */
static int64_t
count_shared(const struct usage_note *note, const struct cycle *c, const struct pod_view *other)
{
    int64_t count = 0;

    for (unsigned i = 0; i < note->count; i++)
        count += claims_include(other, c->pod->namespace, note->claims[i]);
    return count;
}

static void
volume_restrictions_add_pod(void *self, struct cycle *c, const struct pod_view *other,
                            struct node_view *node)
{
    struct usage_note *note = cycle_get(c, &note_key);

    (void)self, (void)node;
    note->users += count_shared(note, c, other);
}

static void
volume_restrictions_remove_pod(void *self, struct cycle *c, const struct pod_view *other,
                               const struct node_view *node)
{
    struct usage_note *note = cycle_get(c, &note_key);

    (void)self, (void)node;
    note->users -= count_shared(note, c, other);
}

static enum verdict
volume_restrictions_filter_one(void *self, const struct cycle *c, const struct node_view *node,
                               uint32_t *ret_reason)
{
    const struct volume_restrictions *me = self;
    const struct usage_note *note = cycle_get(c, &note_key);

    (void)node;
    if (note->users <= 0)
        return VERDICT_OK;
    *ret_reason = me->conflict;
    return VERDICT_REJECT;
}

static bool
pod_hint(void *self, const struct pod_view *pod, const struct object *old_object,
         const struct object *new_object)
{
    const struct pod_spec *spec = &pod_of(old_object)->spec;

    (void)self, (void)new_object;
    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const char *name = spec->volumes.items[i].claim_name;

        if (name != NULL && claims_include(pod, old_object->meta->namespace, name))
            return true;
    }
    return false;
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_DELETE, pod_hint},
    {EVENT_NODE, ACTION_ADD, NULL},
    {EVENT_PERSISTENT_VOLUME_CLAIM, ACTION_ADD | ACTION_UPDATE, claims_hint},
    WAKE_NEW_NODES,
};

const struct plugin volume_restrictions_plugin = {
    .name = "VolumeRestrictions",
    .make = volume_restrictions_make,
    .drop = free,
    .sign = volume_restrictions_sign,
    .prefilter = volume_restrictions_prefilter,
    .add_pod = volume_restrictions_add_pod,
    .remove_pod = volume_restrictions_remove_pod,
    .filter_one = volume_restrictions_filter_one,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
