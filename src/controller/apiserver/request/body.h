/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - from the bytes of a request to a tree that the field table knows
 *
 * Two steps, because options stand between them: parse (is it JSON, is it of
 * a type the verb takes), then normalize against a kind (types, unknown and
 * duplicate fields as fieldValidation says).
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct json;
struct kind;
struct record;
struct request;

/* The most bytes of a body, as upstream; the script and environment of a new
 * Job do not count. Refusal: 413.
 */
#define BODY_LIMIT 3145728u
void body_refuse_size(struct request *q);

/* False: the reply says what is wrong. Sets q->body, unless there is none. */
bool body_parse(struct request *q);

/* Checks kind and apiVersion, makes the tree as the table wants it, and tells
 * of unknown and duplicate fields. False: the reply is made.
 */
bool body_normalize(struct request *q, struct json *tree);

/* For a patched tree, which may share parts with the old one: unknown fields
 * are a 422 under Strict.
 */
bool body_normalize_patched(struct request *q,
                            struct json *tree,
                            const struct json *old_tree);

/* Of a body that is not the route's kind (Binding, Eviction, DeleteOptions):
 * drops what the table does not know.
 */
bool body_normalize_as(struct request *q,
                       const char *kind_name,
                       const struct record *record,
                       struct json *tree);
