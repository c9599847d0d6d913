/* SPDX-License-Identifier: Apache-2.0 */
/* describe_output.h - prints an object as lines of "Name: value", for kctl
 * describe and why
 *
 * Thread: any.
 */
#pragma once

#include "lib/base/macro.h"

struct arena;
struct grid;
struct json;
struct strbuf;

/* Adds one line. The value is sanitized for a terminal, and a time is printed
 * in local time. Without a name the line continues the one above.
 */
void describe_output_add(struct strbuf *out, unsigned indent, const char *name, const char *format,
                         ...) PRINTF(4, 5);

/* Adds a whole tree, one line per member, with names as words: "Node Name: n7".
 */
void describe_output_add_tree(struct strbuf *out, unsigned indent, const struct json *object);

/* Adds the conditions as a table; nothing if there are none. */
void describe_output_add_conditions(struct strbuf *out, const struct json *conditions);

/* Adds a table, indented by two spaces. */
void describe_output_add_grid(struct strbuf *out, struct grid *grid);

/* An RFC 3339 time in local time; other texts unchanged. In the arena. */
const char *describe_output_local(struct arena *arena, const char *time);

/* The time since an RFC 3339 time: "3m5s"; "" if there is none. In the arena.
 */
const char *describe_output_age(struct arena *arena, const char *time);
