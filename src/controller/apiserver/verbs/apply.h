/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - server-side apply: a PATCH with only the fields that its sender
 * wants to set; and the managedFields of all other writes
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct object;
struct request;

/* Finishes the request; `old_object` is NULL when the object does not exist
 * yet.
 */
void apply_configuration(struct request *q, const struct object *old_object);

/* Checks the body of an apply patch. Returns false when the reply says what is
 * wrong.
 */
bool apply_check(struct request *q);

/* Records in managedFields who writes the tree; `live` is NULL for a create. */
void apply_note(struct request *q, struct json *tree, const struct json *live);
