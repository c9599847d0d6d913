/* SPDX-License-Identifier: Apache-2.0 */
/* object_events.h - the Events of an object, oldest first
 *
 * The Events of a job include those of its pods; of many pods only the newest.
 * Events of an earlier job or pod with the same name are left out. The Events
 * of a task of an array are those of its pods, of the newest attempts and also
 * of pods that are gone, and the array's Events about the task.
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

/* Collects the events of an object, or if it is NULL, of the namespace (NULL:
 * all namespaces). They are in the arena.
 */
int object_events_collect(struct kctl *kctl, const struct target_object *object,
                          const char *namespace, struct arena *arena, struct json **ret_events,
                          struct error *err);

/* Prints events as a table. */
struct object_events_style {
    bool names_namespaces;
    bool names_objects;
    bool names_sources;
    bool is_brief; /* without types */
};
void object_events_add_columns(struct grid *grid, const struct object_events_style *style);
void object_events_add_row(struct grid *grid, const struct object_events_style *style,
                           const struct json *event);

/* Describe adds "Events:" and all of them, or "<none>". Brief adds the last
 * `limit` lines, where events that differ only in the object's name are one
 * line; nothing if there are no events.
 */
int object_events_describe(struct kctl *kctl, const struct target_object *object,
                           struct strbuf *out, struct error *err);
void object_events_add_brief(const struct json *events, const char *name, unsigned limit,
                             struct strbuf *out);
