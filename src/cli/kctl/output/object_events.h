/* SPDX-License-Identifier: Apache-2.0 */
/* object_events.h - the Events of an object, oldest first
 *
 * Those of a job include the Events of its pods, of very many of the newest.
 * Events of a job or a pod that had the name before are not among them. Those of
 * a task of an array are its pods', of the newest attempts, also of pods that
 * are gone, and what the array's say of it.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct grid;
struct json;
struct kctl;
struct strbuf;
struct target_object;

/* The events of an object, or, where it is NULL, all of the namespace (NULL:
 * of all). They are in the arena.
 */
int object_events_collect(struct kctl *kctl,
                          const struct target_object *object,
                          const char *namespace,
                          struct arena *arena,
                          struct json **ret_events,
                          struct error *err);

/* As a table. */
struct object_events_style {
    bool names_namespaces;
    bool names_objects;
    bool names_sources;
    bool is_brief; /* without their types */
};
void object_events_add_columns(struct grid *grid,
                               const struct object_events_style *style);
void object_events_add_row(struct grid *grid,
                           const struct object_events_style *style,
                           const struct json *event);

/* "Events:" and all of them, or "<none>", as a part of what is told of the
 * object. Brief: the last `limit` lines, where events that say the same but for
 * words with the object's name are one line; nothing where there are none.
 */
int object_events_describe(struct kctl *kctl,
                           const struct target_object *object,
                           struct strbuf *out,
                           struct error *err);
void object_events_add_brief(const struct json *events,
                             const char *name,
                             unsigned limit,
                             struct strbuf *out);
