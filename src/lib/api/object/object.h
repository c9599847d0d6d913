/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - one published API object: text and struct, immutable
 *
 * Objects are reference-counted and cross threads freely: the counts are atomic
 * and nothing else ever changes. The text is the object's canonical JSON,
 * printed once; the view is the C struct that the kind's field table is bound
 * to (struct pod, ...) and begins with a struct meta. To change an object:
 * parse its text, edit the tree, make a new object.
 *
 * A packed object (dictionary_objects.h) stores only its differences from
 * another object, its dictionary: its text is compressed, and its view points
 * into the dictionary's. Readers see no difference, but must get the text by a
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
    uint32_t length;  /* length of its text */
    uint32_t bytes;   /* see object_bytes */
};

/* Life. New takes a normalized tree (record_normalize with the kind's table)
 * with resourceVersion set, and borrows nothing from it. Parse is for text from
 * the store or the network of a known kind; unknown fields are dropped; -EINVAL
 * with the path.
 */
const struct object *object_new(const struct kind *kind, const struct json *tree);
const struct object *object_new_packed(const struct kind *kind, const struct json *tree,
                                       struct dictionary_objects *dictionaries);
int object_parse(const struct kind *kind, const char *text, size_t length,
                 const struct object **ret_object, struct error *err);

/* Makes an object of text that object_new or object_parse printed, and its
 * tree: the text is copied unchanged, so that the store prints nothing at its
 * start. The text ends with a NUL. `dictionaries`: as above, or NULL.
 */
const struct object *object_restore(const struct kind *kind, const struct json *tree,
                                    const char *text, size_t length,
                                    struct dictionary_objects *dictionaries);

/* The same object, which must have a resourceVersion, at another revision:
 * costs little more than the number and a reference to the first object.
 */
const struct object *object_renumbered(const struct object *object, int64_t revision);

/* The result of a normalized merge patch that sets members of the object, among
 * them resourceVersion. The new object is packed, and its view points into the
 * old one except where the patch sets members; this takes a third of the time.
 * NULL: the object must be made from its tree (lib/json/text_patch.h). That is
 * also so if the old object is itself patched or renumbered, to avoid chains.
 */
const struct object *object_patched(const struct object *object, const struct json *patch,
                                    struct arena *arena, struct dictionary_objects *dictionaries);

/* The object with another status, complete and normalized, at another revision.
 * The new object is packed like any other, and no tree is made of the rest of
 * the old one. NULL: the object must be made from its tree.
 */
const struct object *object_with_status(const struct object *object, struct json *status,
                                        int64_t revision, struct arena *arena,
                                        struct dictionary_objects *dictionaries);
const struct object *object_ref(const struct object *object);
void object_unref(const struct object *object);
void object_unrefp(const struct object **object);

/* The text with a final NUL: the object's own if it is stored whole, otherwise
 * a copy in the arena; borrowed from either.
 */
const char *object_text(const struct object *object, struct arena *arena);
bool object_is_whole(const struct object *object);
struct text_span object_own_text(const struct object *object); /* if whole */

/* The tree of the text, in the arena and free to edit. The `_as` calls convert
 * to a kind that is stored as the object's kind; object_as makes a new object.
 */
struct json *object_tree(const struct object *object, struct arena *arena);
struct json *object_tree_as(const struct object *object, const struct kind *kind,
                            struct arena *arena);
const struct object *object_as(const struct object *object, const struct kind *kind);

/* Bytes held, for accounting, without the dictionary. */
size_t object_bytes(const struct object *object);

/* "namespace/name", or "name" for kinds without namespaces. */
#define OBJECT_KEY_SIZE (253 + 1 + 253 + 1)
void object_key(const struct object *object, char out[OBJECT_KEY_SIZE]);
