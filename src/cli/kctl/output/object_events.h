/* SPDX-License-Identifier: Apache-2.0 */
/* object_events.h - the Events of an object, oldest first
 *
 * Those of a job include the Events of its pods.
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
};
void object_events_add_columns(struct grid *grid,
                               const struct object_events_style *style);
void object_events_add_row(struct grid *grid,
                           const struct object_events_style *style,
                           const struct json *event);

/* "Events:" and the last `limit` of them (0: all), or "<none>", as a part of
 * what is told of the object.
 */
int object_events_describe(struct kctl *kctl,
                           const struct target_object *object,
                           unsigned limit,
                           struct strbuf *out,
                           struct error *err);
