/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - one API object as it was published: text and struct, for good
 *
 * Immutable and reference-counted, so that it crosses threads freely: the
 * counts are atomic and nothing else ever changes. The text is its canonical
 * JSON, printed once; the view is the C struct that its kind's field table is
 * bound to (struct pod, ...), beginning with a struct meta. To change an
 * object: parse its text, edit the tree, make a new object.
 *
 * A packed object (dictionary_objects.h) holds only its differences from
 * another one, its dictionary: its text is compressed, and its view points into
 * the dictionary's. A reader sees no difference, but asks for the text by a
 * call.
 *
 * Thread:  any; an object never changes, and its count is atomic.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct json;
struct kind;
struct meta;
struct text_span;
struct dictionary_objects;

struct object {
    const struct kind *kind;
    union {
        const void *view;
        const struct meta *meta; /* every view begins with one */
    };
    int64_t revision; /* metadata.resourceVersion */
    uint32_t length;  /* of its text */
    uint32_t bytes;   /* held; object_bytes */
};

/* Life. New takes a normalized tree (record_normalize with the kind's table)
 * whose resourceVersion is set, and keeps nothing of it. Parse is for text
 * from the store or the wire: the kind is known; unknown fields are dropped;
 * -EINVAL with the path.
 */
const struct object *object_new(const struct kind *kind,
                                const struct json *tree);
const struct object *object_new_packed(const struct kind *kind,
                                       const struct json *tree,
                                       struct dictionary_objects *dictionaries);
int object_parse(const struct kind *kind,
                 const char *text,
                 size_t length,
                 const struct object **ret_object,
                 struct error *err);

/* From text that object_new or object_parse printed, and its tree: the text is
 * kept as it is, so that the store's start prints nothing. It has a NUL behind
 * it. Dictionaries: as above, or NULL.
 */
const struct object *object_restore(const struct kind *kind,
                                    const struct json *tree,
                                    const char *text,
                                    size_t length,
                                    struct dictionary_objects *dictionaries);

/* The same, which has a resourceVersion, at another revision: little more than the
 * number, and a reference to the first.
 */
const struct object *object_renumbered(const struct object *object,
                                       int64_t revision);

/* The object that a merge patch makes of it, which sets members, its resourceVersion
 * among them, and is normalized: packed, with a view that points into the first one
 * but for what is set, and made in a third of the time. NULL: it has to be made
 * from its tree (lib/json/text_patch.h); also where the first was made so, lest
 * there be chains.
 */
const struct object *object_patched(const struct object *object,
                                    const struct json *patch,
                                    struct arena *arena,
                                    struct dictionary_objects *dictionaries);

/* The object with another status, whole and normalized, at another revision; it has
 * all of its own, and of the rest of the first no tree is made. NULL: it has to be
 * made from its tree.
 */
const struct object *
object_with_status(const struct object *object,
                   struct json *status,
                   int64_t revision,
                   struct arena *arena,
                   struct dictionary_objects *dictionaries);
const struct object *object_ref(const struct object *object);
void object_unref(const struct object *object);
void object_unrefp(const struct object **object);

/* Its text, with a NUL behind it: its own where that is whole, else made in the
 * arena; so borrowed from both.
 */
const char *object_text(const struct object *object, struct arena *arena);
bool object_is_whole(const struct object *object);
struct text_span object_own_text(const struct object *object); /* of a whole */

/* The tree of its text, in the arena: free to edit. As: in the words of a kind
 * that is stored as the object's; the second is an object of its own.
 */
struct json *object_tree(const struct object *object, struct arena *arena);
struct json *object_tree_as(const struct object *object,
                            const struct kind *kind,
                            struct arena *arena);
const struct object *object_as(const struct object *object,
                               const struct kind *kind);

/* Bytes held, for accounting; without its dictionary. */
size_t object_bytes(const struct object *object);

/* "namespace/name", or "name" for kinds without namespaces. */
#define OBJECT_KEY_SIZE (253 + 1 + 253 + 1)
void object_key(const struct object *object, char out[OBJECT_KEY_SIZE]);
