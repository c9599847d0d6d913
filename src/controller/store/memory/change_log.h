/* SPDX-License-Identifier: Apache-2.0 */
/* change_log.h - the latest changes, in order of revision: watches follow them,
 * and lists at an older revision undo them
 *
 * A ring of references to old and new objects. The changes of one entry are
 * chained from the newest back, so a list at a revision costs the changes since
 * then, not all that the ring holds. The ring is bounded in bytes and in age.
 *
 * Owns:       references to the objects in it.
 * Thread:     the loop's.
 * Invariant:  sequence numbers have no gaps; revisions rise with them. Changes
 *             that are not published yet are at the end and never dropped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct entry;
struct change_log;
struct object;
struct object_index;

struct change {
    int64_t revision;
    int64_t at_us; /* time of the change, monotonic */
    struct object_index *objects;
    struct entry *entry;
    const struct object *old_object; /* or NULL */
    const struct object *new_object; /* for a removal: the object's last
                                      * state */
    uint64_t previous;               /* number of the entry's change before;
                                      * 0: none */
    bool is_removal;
};

/* Life. `revision`: the revision at which the log starts. */
void change_log_free(struct change_log *l);
struct change_log *change_log_new(int64_t revision) OWNED_BY(change_log_free);

/* Add takes new references to the objects, sets `previous` and makes
 * this the entry's last change. Pop undoes the last add. Publish makes the next
 * change visible and returns it.
 */
void change_log_add(struct change_log *l, struct change change);
void change_log_pop(struct change_log *l);
const struct change *change_log_publish(struct change_log *l);

/* Removes the entry from its index if nothing refers to it. */
void change_log_release_entry(struct change_log *l, struct object_index *objects,
                              struct entry *entry);

/* Drops changes beyond the bounds. */
void change_log_trim(struct change_log *l, size_t bytes, int64_t before_us);
void change_log_forget_to(struct change_log *l, int64_t revision);

/* The numbers of changes end before change_log_end, those of the visible
 * ones before change_log_published. Oldest_revision: the oldest revision that can still be
 * listed; revision: the latest published one.
 */
const struct change *change_log_get(const struct change_log *l, uint64_t number);
uint64_t change_log_published(const struct change_log *l);
uint64_t change_log_end(const struct change_log *l);
int64_t change_log_oldest_revision(const struct change_log *l);
int64_t change_log_revision(const struct change_log *l);
size_t change_log_bytes(const struct change_log *l);

/* The number of the first published change after that revision. */
uint64_t change_log_seek(const struct change_log *l, int64_t revision);

/* The entry's object at a revision that is not before the oldest one. */
const struct object *change_log_at(const struct change_log *l, const struct entry *entry,
                                   int64_t rev);
