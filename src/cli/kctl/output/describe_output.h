/* SPDX-License-Identifier: Apache-2.0 */
/* describe_output.h - an object as lines of "Name: value", for kctl describe
 * and why
 *
 * Thread: any.
 */
#pragma once

#include "lib/base/macro.h"

struct arena;
struct grid;
struct json;
struct strbuf;

/* One line; the value's text is made fit for a terminal, and a moment is in
 * local time. Without a name it goes on with what the line above names.
 */
void describe_output_add(struct strbuf *out,
                         unsigned indent,
                         const char *name,
                         const char *format,
                         ...) PRINTF(4, 5);

/* A whole tree, one line per member, names in words: "Node Name: n7". */
void describe_output_add_tree(struct strbuf *out,
                              unsigned indent,
                              const struct json *object);

/* The conditions as a table; nothing when there are none. */
void describe_output_add_conditions(struct strbuf *out,
                                    const struct json *conditions);

/* A table, behind two spaces. */
void describe_output_add_grid(struct strbuf *out, struct grid *grid);

/* An RFC 3339 time in local time; other texts as they are. In the arena. */
const char *describe_output_local(struct arena *arena, const char *time);

/* How long ago an RFC 3339 time was: "3m5s"; "" for none. In the arena. */
const char *describe_output_age(struct arena *arena, const char *time);
