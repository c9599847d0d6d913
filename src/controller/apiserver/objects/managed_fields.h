/* SPDX-License-Identifier: Apache-2.0 */
/* managed_fields.h - which manager owns which fields of an object
 * (metadata.managedFields)
 *
 * Server-side apply merges a manager's configuration into the object, removes
 * what the manager listed before and lists no more, and changes fields of other
 * managers only with force. Other writes are recorded: a manager that changes a
 * field owns it.
 *
 * managedFields begin at the creation of an object when a Kubernetes client
 * creates it (one that names itself or its field manager), and at the first
 * apply in any case. Objects that Kiln's own programs create have none.
 *
 * The functions have no side effects beyond their trees.
 *
 * Source:  k8s.io/apimachinery/pkg/util/managedfields.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json;
struct kind;

struct field_manager {
    const char *name;
    const char *subresource; /* "" for the object itself */
    bool applies;
};

/* Sets the managedFields of a tree that is about to be written. `live` is the
 * present tree, or NULL at creation; `is_followed` says whether a new object
 * gets managedFields.
 */
void managed_fields_note(struct arena *arena, const struct kind *kind, const struct json *live,
                         struct json *tree, const struct field_manager *who, bool is_followed,
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

/* Returns the live tree (or the empty tree of a new object) with the
 * configuration applied and its managedFields set, not normalized yet. Returns
 * NULL when there are conflicts and `force` is false.
 */
struct json *managed_fields_apply(struct arena *arena, const struct kind *kind,
                                  const struct json *live, const struct json *configuration,
                                  const struct field_manager *who, bool force, int64_t now_us,
                                  struct manager_conflicts *ret_conflicts);

/* Whether two trees differ only in the times of managedFields. */
bool managed_fields_same_but_times(struct arena *arena, const struct json *a, const struct json *b);
