/* SPDX-License-Identifier: Apache-2.0 */
/* happenings.h - what happened to an object, by its Events, oldest first
 *
 * What happens to a job happens to its pods too, so those are told with it.
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
int happenings_collect(struct kctl *kctl,
                       const struct target_object *object,
                       const char *namespace,
                       struct arena *arena,
                       struct json **ret_events,
                       struct error *err);

/* As a table. */
struct happenings_style {
    bool names_namespaces;
    bool names_objects;
    bool names_sources;
};
void happenings_add_columns(struct grid *grid,
                            const struct happenings_style *style);
void happenings_add_row(struct grid *grid,
                        const struct happenings_style *style,
                        const struct json *event);

/* "Events:" and the last `limit` of them (0: all), or "<none>", as a part of
 * what is told of the object.
 */
int happenings_tell(struct kctl *kctl,
                    const struct target_object *object,
                    unsigned limit,
                    struct strbuf *out,
                    struct error *err);
