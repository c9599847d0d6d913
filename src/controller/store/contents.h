/* SPDX-License-Identifier: Apache-2.0 */
/* contents.h - what a store has in memory: objects by kind, blobs, secrets, and what
 * could not be read
 *
 * It is filled from an engine (load.h), by a standby also while another controller
 * leads (follow.h), and then changed by transactions. Both heads of an object are here;
 * which one moves when is not known here.
 *
 * Owns:    references to the objects of both heads.
 * Thread:  the loop's, or the one that opens the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/store/memory/store_types.h"
#include "lib/api/object/kind.h"
#include "lib/base/macro.h"

struct blob_counts;
struct dictionary_objects;
struct entry;
struct expiry;
struct map;
struct object;
struct object_index;
struct quarantine;
struct secondary_index;

/* The objects of one kind. */
struct section {
    struct object_index *objects;
    struct secondary_index **indexes; /* in the order of the kind's */
    unsigned n_indexes;
    char *name;            /* of the kind in the database: "jobs.batch", "pods" */
    size_t count;          /* of published objects */
    struct expiry *expiry; /* of transient kinds, or NULL */
};

struct contents {
    struct section *sections; /* in the order of kinds[] */
    struct blob_counts *blobs;
    struct map *secrets;
    struct quarantine *quarantine;           /* rows that could not be read */
    struct dictionary_objects *dictionaries; /* for new objects */
    /* See store.h: of the pending head. May be NULL. */
    void (*moved)(const struct object *before, const struct object *after, void *context);
    void *moved_context;
};

/* Life. The expiries are given to it, and freed with it. */
void contents_init(struct contents *c);
void contents_fini(struct contents *c);

struct section *contents_section(const struct contents *c, const struct kind *kind);
struct section *contents_find_section(const struct contents *c, const char *name); /* or NULL */

static inline bool
kind_is(const struct kind *kind, unsigned kind_flag)
{
    return (kind->flags & kind_flag) != 0;
}

/* Sets a head of the entry to the object, and takes over the reference. */
void contents_set_head(struct contents *c, struct entry *entry, const struct kind *kind,
                       enum store_head head, const struct object *object TAKES);
