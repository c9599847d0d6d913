/* SPDX-License-Identifier: Apache-2.0 */
/* managed_fields.h - who owns which fields of an object
 * (metadata.managedFields)
 *
 * Server-side apply: a manager's configuration is laid over the object, what
 * it listed before and lists no more goes, and what others own it changes only
 * by force. Other writes are noted: who changes a field owns it.
 *
 * An object is followed from its creation when a client of Kubernetes makes it
 * (one that names itself or its field manager), and from its first apply in
 * any case; what Kiln's own programs make carries no such list.
 *
 * Pure.
 * Source: k8s.io/apimachinery/pkg/util/managedfields.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct json;
struct kind;

struct field_manager {
    const char *name;
    const char *subresource; /* "" for the object itself */
    bool applies;
};

/* Sets the managedFields of a tree that is about to be written. `live`: what
 * is there, NULL at creation; `is_followed`: whether a new object is.
 */
void managed_fields_note(struct arena *arena,
                         const struct kind *kind,
                         const struct json *live,
                         struct json *tree,
                         const struct field_manager *who,
                         bool is_followed,
                         int64_t now_us);

/* A field that another manager owns and that the applied configuration changes.
 */
struct manager_conflict {
    const char *manager; /* `"me" using v1` */
    const char *path;    /* ".data.a" */
};
struct manager_conflicts {
    struct manager_conflict *items;
    unsigned count, capacity;
};

/* The live tree (or the empty one of a new object) with the configuration
 * applied and its managedFields set; it is to be normalized. NULL: there are
 * conflicts, and `force` is false.
 */
struct json *managed_fields_apply(struct arena *arena,
                                  const struct kind *kind,
                                  const struct json *live,
                                  const struct json *configuration,
                                  const struct field_manager *who,
                                  bool force,
                                  int64_t now_us,
                                  struct manager_conflicts *ret_conflicts);

/* Whether two trees are one but for the times in managedFields. */
bool managed_fields_same_but_times(struct arena *arena,
                                   const struct json *a,
                                   const struct json *b);
