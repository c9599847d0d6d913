/* SPDX-License-Identifier: Apache-2.0 */
/* object_summary.h - the first facts about an object, one a line
 *
 * They are the cells of the object's row in the server's table, the wide
 * columns included, so "kctl describe" and "kctl get" agree.
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct kctl;
struct strbuf;
struct target_object;

/* Empty cells give no line, nor do columns that the metadata shows. */
int object_summary_add(struct kctl *kctl,
                       const struct target_object *object,
                       struct strbuf *out,
                       struct error *err);
