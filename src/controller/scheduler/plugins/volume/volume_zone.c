/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeZone - a volume with zone or region labels can only be used by nodes
 * with the same labels
 *
 * Extension points:  prefilter, filter
 * Cycle state:       the labels of the pod's volumes
 * Woken by:          classes, claims, volumes, labels of nodes
 *
 * Source: kube-scheduler, plugins/volumezone.
 */
#include <ctype.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/volume/claims.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/base/alloc.h"

/* Separates the zones of a volume that is in several. */
#define BETWEEN "__"

struct volume_zone {
    struct handle *handle;
    uint32_t conflict, claim;
};

/* Deprecated label names, and the current ones. A volume may have the
 * deprecated label while its node has only the current one.
 */
static const struct zone_label {
    const char *name;
    const char *now;
} zone_labels[] = {
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", NULL},
    {"topology.kubernetes.io/region", NULL},
};

/* A zone or region label of one of the pod's volumes. */
struct zone_demand {
    const struct object *volume;
    const struct zone_label *label;
    const char *zones; /* "a" or "a__b" */
};

struct zone_note {
    struct zone_demand *demands;
    unsigned count, capacity;
};

static const char note_key;

static int
volume_zone_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct volume_zone *me = xnew(struct volume_zone);

    (void)args, (void)err;
    me->handle = handle;
    me->conflict = handle_reason(handle, "node(s) had no available volume zone");
    me->claim = handle_reason(handle, "a persistentvolumeclaim of the pod");
    *ret_self = me;
    return 0;
}

/* A pod with claims shares no results: the claims' volumes are not in it. */
static bool
volume_zone_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self, (void)out;
    return !claims_has_any(pod);
}

static void
note_free(void *value)
{
    struct zone_note *note = value;

    for (unsigned i = 0; i < note->count; i++)
        object_unref(note->demands[i].volume);
    free(note->demands);
    free(note);
}

/* --- zones of a label ----------------------------------------------------- */

/* The next zone, without the spaces around it. */
static bool
next_zone(const char **at, const char **ret_zone, size_t *ret_length)
{
    const char *zone = *at, *end;

    if (zone == NULL)
        return false;
    end = strstr(zone, BETWEEN);
    *at = end != NULL ? end + strlen(BETWEEN) : NULL;
    if (end == NULL)
        end = zone + strlen(zone);
    while (zone < end && isspace((unsigned char)*zone))
        zone++;
    while (end > zone && isspace((unsigned char)end[-1]))
        end--;
    *ret_zone = zone;
    *ret_length = (size_t)(end - zone);
    return true;
}

/* A list that contains an empty zone is ignored. */
static bool
is_readable(const char *zones)
{
    const char *zone;
    size_t length;

    while (next_zone(&zones, &zone, &length))
        if (length == 0)
            return false;
    return true;
}

static bool
has_zone(const char *zones, const char *wanted)
{
    const char *zone;
    size_t length;

    while (next_zone(&zones, &zone, &length))
        if (strlen(wanted) == length && memcmp(zone, wanted, length) == 0)
            return true;
    return false;
}

/* --- the pod's volumes ---------------------------------------------------- */

static void
add_demands(struct zone_note *note, const struct object *volume)
{
    for (size_t i = 0; i < ARRAY_SIZE(zone_labels); i++) {
        const char *zones = string_map_find(&volume->meta->labels, zone_labels[i].name);

        if (zones == NULL || !is_readable(zones))
            continue;
        xgrow(note->demands, note->count, note->capacity);
        note->demands[note->count++] = (struct zone_demand){
            .volume = object_ref(volume),
            .label = &zone_labels[i],
            .zones = zones,
        };
    }
}

/* An unbound claim is accepted only if its class waits for the first consumer,
 * because its volume is then chosen for the pod's node.
 */
static enum verdict
check_unbound(const struct volume_book *book, struct cycle *c,
              const struct persistent_volume_claim *claim)
{
    const char *name = persistent_volume_claim_class(claim);
    const struct object *class;

    if (name == NULL || name[0] == '\0') {
        cycle_set_message(c, "PersistentVolumeClaim had no pv name and storageClass name");
        return VERDICT_NEVER;
    }
    class = volume_book_class(book, name);
    if (class == NULL) {
        cycle_set_message(c, "storageclass.storage.k8s.io \"%s\" not found", name);
        return VERDICT_NEVER;
    }
    if (storage_class_waits(storage_class_of(class)))
        return VERDICT_OK;
    cycle_set_message(c, "PersistentVolume had no name");
    return VERDICT_NEVER;
}

static enum verdict
check_claim(const struct volume_book *book, struct cycle *c, const char *name,
            struct zone_note *note)
{
    const struct object *object = volume_book_claim(book, c->pod->namespace, name);
    const struct persistent_volume_claim *claim;
    const struct object *volume;

    if (object == NULL) {
        cycle_set_message(c, "persistentvolumeclaim \"%s\" not found", name);
        return VERDICT_NEVER;
    }
    claim = persistent_volume_claim_of(object);
    if (claim->spec.volume_name == NULL || claim->spec.volume_name[0] == '\0')
        return check_unbound(book, c, claim);
    volume = volume_book_volume(book, claim->spec.volume_name);
    if (volume == NULL) {
        cycle_set_message(c, "persistentvolume \"%s\" not found", claim->spec.volume_name);
        return VERDICT_NEVER;
    }
    add_demands(note, volume);
    return VERDICT_OK;
}

static enum verdict
volume_zone_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                      uint32_t *ret_reason)
{
    const struct volume_zone *me = self;
    const struct pod_spec *spec = &c->pod->pod->spec;
    enum verdict verdict = VERDICT_OK;
    struct zone_note *note;

    (void)ret_result;
    if (spec->volumes.count == 0)
        return VERDICT_SKIP;
    note = xnew(struct zone_note);
    for (unsigned i = 0; i < spec->volumes.count && verdict == VERDICT_OK; i++)
        if (spec->volumes.items[i].claim_name != NULL)
            verdict = check_claim(me->handle->volumes, c, spec->volumes.items[i].claim_name, note);
    if (verdict == VERDICT_OK && note->count == 0)
        verdict = VERDICT_SKIP;
    if (verdict == VERDICT_OK)
        cycle_put(c, &note_key, note, note_free, NULL);
    else
        note_free(note);
    *ret_reason = me->claim;
    return verdict;
}

/* --- a node --------------------------------------------------------------- */

static bool
has_any_zone(const struct string_map *labels)
{
    for (size_t i = 0; i < ARRAY_SIZE(zone_labels); i++)
        if (string_map_find(labels, zone_labels[i].name) != NULL)
            return true;
    return false;
}

static enum verdict
volume_zone_filter_one(void *self, const struct cycle *c, const struct node_view *node,
                       uint32_t *ret_reason)
{
    const struct volume_zone *me = self;
    const struct zone_note *note = cycle_get(c, &note_key);
    const struct string_map *labels = &node->node->meta.labels;

    if (!has_any_zone(labels)) /* a cluster without zones */
        return VERDICT_OK;
    for (unsigned i = 0; i < note->count; i++) {
        const struct zone_demand *d = &note->demands[i];
        const char *zone = string_map_find(labels, d->label->name);

        if (zone == NULL && d->label->now != NULL)
            zone = string_map_find(labels, d->label->now);
        if (zone == NULL || !has_zone(d->zones, zone)) {
            *ret_reason = me->conflict;
            return VERDICT_NEVER;
        }
    }
    return VERDICT_OK;
}

/* --- hints ---------------------------------------------------------------- */

static bool
class_hint(void *self, const struct pod_view *pod, const struct object *old_object,
           const struct object *new_object)
{
    (void)self, (void)pod, (void)old_object;
    return storage_class_waits(storage_class_of(new_object));
}

static bool
volume_hint(void *self, const struct pod_view *pod, const struct object *old_object,
            const struct object *new_object)
{
    (void)self, (void)pod;
    if (old_object == NULL)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(zone_labels); i++) {
        const char *was = string_map_find(&old_object->meta->labels, zone_labels[i].name);
        const char *is = string_map_find(&new_object->meta->labels, zone_labels[i].name);

        if ((was == NULL) != (is == NULL) || (was != NULL && strcmp(was, is) != 0))
            return true;
    }
    return false;
}

static const struct wake wakes[] = {
    {EVENT_STORAGE_CLASS, ACTION_ADD, class_hint},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, NULL},
    {EVENT_PERSISTENT_VOLUME_CLAIM, ACTION_ADD | ACTION_UPDATE, claims_hint},
    {EVENT_PERSISTENT_VOLUME, ACTION_ADD | ACTION_UPDATE, volume_hint},
    WAKE_NEW_NODES,
};

const struct plugin volume_zone_plugin = {
    .name = "VolumeZone",
    .make = volume_zone_make,
    .drop = free,
    .sign = volume_zone_sign,
    .prefilter = volume_zone_prefilter,
    .filter_one = volume_zone_filter_one,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
