/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - turns the bytes of a request into a tree that matches the field
 * table
 *
 * There are two steps, because the options are parsed between them: parse (is
 * the body JSON, and of a type that the verb accepts), then normalize against a
 * kind (types; unknown and duplicate fields as fieldValidation says).
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct record;
struct request;

/* The largest body in bytes, as upstream. The script and environment of a new
 * Job do not count. A larger body is refused with a 413.
 */
#define BODY_LIMIT 3145728u
void body_refuse_size(struct request *q);

/* Returns false when the reply says what is wrong. Sets q->body if there is a
 * body.
 */
bool body_parse(struct request *q);

/* Checks kind and apiVersion, converts the tree to the types of the field
 * table, and warns about or refuses unknown and duplicate fields. Returns false
 * when the reply is made.
 */
bool body_normalize(struct request *q, struct json *tree);

/* For a patched tree, which may share parts with the old tree: unknown fields
 * are a 422 under Strict.
 */
bool body_normalize_patched(struct request *q, struct json *tree, const struct json *old_tree);

/* For a body that is not the route's kind (Binding, Eviction, DeleteOptions):
 * drops the fields that the table does not have.
 */
bool body_normalize_as(struct request *q, const char *kind_name, const struct record *record,
                       struct json *tree);
