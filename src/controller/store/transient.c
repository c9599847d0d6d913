/* SPDX-License-Identifier: Apache-2.0 */
/* An event that a user wrote has the user's uid; one that the system wrote counts for the
 * user whose job, pod or claim it is about, because that user's work made it. The object
 * is asked, and not the event: an event that names an owner could be changed by that
 * owner. If the object is gone already, the namespace counts. An event about
 * the cluster (a node) counts for that thing, so a node that fails every second does not push out
 * what happened to the others.
 */
#include "controller/store/transient.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/store/contents.h"
#include "controller/store/engine/engine.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/past_events.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/object_reference.h"
#include "lib/api/object_owner.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static const struct kind *
kind_of(const struct object_reference *about)
{
    for (unsigned i = 0; about->kind != NULL && i < n_kinds; i++)
        if (strcmp(kinds[i]->name, about->kind) == 0)
            return kind_stored(kinds[i]);
    return NULL;
}

static const struct object *
find_subject(const struct store *s, const struct object *object,
             const struct object_reference *about, const struct kind *kind)
{
    if (kind == NULL || about->name == NULL || !(kind->flags & KIND_NAMESPACED))
        return NULL;
    return store_find(s, STORE_PENDING, kind, object->meta->namespace, about->name);
}

static void
find_owner(const struct object *object, struct expiry_owner *ret_owner, void *context)
{
    const struct transient *t = context;
    static const struct object_reference nothing = {0};
    const struct object_reference *about =
        object->kind->about != NULL ? object->kind->about(object) : &nothing;
    const struct kind *kind = kind_of(about);
    const struct object *subject = find_subject(t->store, object, about, kind);
    uid_t uid;

    ret_owner->is_user = true;
    if (object_owner(object, &uid) || (subject != NULL && object_owner(subject, &uid))) {
        snprintf(ret_owner->name, sizeof(ret_owner->name), "user %u", (unsigned)uid);
    } else if (kind != NULL && !(kind->flags & KIND_NAMESPACED)) {
        ret_owner->is_user = false;
        snprintf(ret_owner->name, sizeof(ret_owner->name), "%s %s", kind->name,
                 about->name != NULL ? about->name : "");
    } else {
        snprintf(ret_owner->name, sizeof(ret_owner->name), "namespace %s",
                 object->meta->namespace != NULL ? object->meta->namespace : "");
    }
}

/* The object's last state, at the revision of the removal. */
static const struct object *
last_state(const struct transient *t, const struct object *object, int64_t revision)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(8 * object->length);
    struct json *tree = object_tree(object, arena);

    json_set(arena, json_make_object(arena, tree, "metadata"), "resourceVersion",
             json_stringf(arena, "%" PRId64, revision));
    return object_new_packed(object->kind, tree, t->contents->dictionaries);
}

static void
remove_expired(struct entry *entry, void *context)
{
    const struct transient *t = context;
    const struct object *object = entry->heads[STORE_PENDING];
    struct store_txn *txn;

    if (object == NULL) /* another transaction removes it already */
        return;
    txn = store_begin(t->store);
    store_txn_remove(txn, last_state(t, object, store_txn_revision(txn)));
    store_commit(txn, NULL, NULL);
}

static bool
has_failed(void *context)
{
    const struct transient *t = context;

    return *t->has_failed;
}

struct expiry *
transient_new_expiry(struct transient *t)
{
    return expiry_new(&(struct expiry_settings){
        .loop = t->settings->loop,
        .clock = t->settings->clock,
        .age_s = t->settings->event_age_s,
        .limit = t->settings->event_limit,
        .find_owner = find_owner,
        .remove = remove_expired,
        .is_off = has_failed,
        .context = t,
    });
}

/* --- those of the leader before ---------------------------------------------------------- */

static const struct kind *
kind_of_section(const char *name, void *context)
{
    const struct transient *t = context;
    const struct section *section = contents_find_section(t->contents, name);

    return section != NULL ? object_index_kind(section->objects) : NULL;
}

/* False: an object was made under its name meanwhile. */
static bool
place(int64_t row, const struct object *object, void *context)
{
    struct contents *c = ((const struct transient *)context)->contents;
    struct section *section = contents_section(c, object->kind);
    struct entry *entry =
        object_index_add(section->objects, object->meta->namespace, object->meta->name);

    if (entry->row == row) /* it was read before */
        return true;
    if (entry->row != 0 || entry->last_change != 0)
        return false;
    entry->row = row;
    contents_set_head(c, entry, object->kind, STORE_PENDING, object_ref(object));
    contents_set_head(c, entry, object->kind, STORE_PUBLISHED, object_ref(object));
    section->count++;
    if (section->expiry != NULL)
        expiry_add_old(section->expiry, entry, object);
    return true;
}

struct past_events *
transient_read_past(struct transient *t, struct engine *engine, int64_t last_row,
                    struct event_writer *events)
{
    return past_events_new(
        &(struct past_events_settings){
            .loop = t->settings->loop,
            .events = events,
            .last_row = last_row,
            .kind = kind_of_section,
            .place = place,
            .context = t,
        },
        engine);
}
