/* SPDX-License-Identifier: Apache-2.0 */
/* object_summary.h - the main properties of an object, one per line
 *
 * These are the cells of the object's row in the server's table, including the
 * wide columns, so that "kctl describe" and "kctl get" agree.
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct kctl;
struct strbuf;
struct target_object;

/* Empty cells and columns that the metadata shows are omitted. */
int object_summary_add(struct kctl *kctl, const struct target_object *object, struct strbuf *out,
                       struct error *err);

/* The text of a cell of a Table with one row; "" if it has no such column, or
 * nothing in it. Borrowed.
 */
struct json;
const char *object_summary_cell(const struct json *table, const char *column);
