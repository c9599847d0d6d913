/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary_objects.h - objects that others are compressed against
 *
 * Most objects repeat another one: jobs of one user, pods of one job, leases of
 * nodes. One object of each sort is kept whole; the others store only their
 * differences from it (object_new_packed). For each kind, namespace and user
 * the last few objects are kept that matched no dictionary.
 *
 * Owns:    references to the dictionaries that are kept; each object has one to
 *          its own dictionary, kept or not.
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct json;
struct kind;
struct object;
struct dictionary_objects;

/* Life */
void dictionary_objects_free(struct dictionary_objects *d);
struct dictionary_objects *dictionary_objects_new(void) OWNED_BY(dictionary_objects_free);
DEFINE_CLEANUP(struct dictionary_objects, dictionary_objects_free)

/* A text, compressed against the text of another object. Borrowed until the
 * next call.
 */
struct packed_text {
    const struct object *beside;
    const char *packed;
    size_t length;
};

/* Packs the text against the best dictionary. False: no dictionary fits, and
 * the object with that text should be added.
 */
bool dictionary_objects_pack(struct dictionary_objects *d, const struct kind *kind,
                             const struct json *tree, const char *text, size_t length,
                             struct packed_text *ret);

/* The same for the next version of an object. The dictionary of the version
 * before, `beside` (or NULL), is preferred: the view of the next version can
 * share arrays with it.
 */
bool dictionary_objects_pack_next(struct dictionary_objects *d, const struct object *before,
                                  const struct object *beside, const char *text, size_t length,
                                  struct packed_text *ret);
void dictionary_objects_add(struct dictionary_objects *d, const struct json *tree,
                            const struct object *object);
