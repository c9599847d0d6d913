/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - server-side apply: a PATCH that says what its sender wants of an
 * object, and nothing of the rest; and who wrote what, for other writes
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct json;
struct object;
struct request;

/* Ends the request; `old_object` is NULL when the object is to be made. */
void apply_configuration(struct request *q, const struct object *old_object);

/* The body of such a patch. False: the reply says what is wrong. */
bool apply_check(struct request *q);

/* Notes in the tree who writes it; `live` is NULL at creation. */
void apply_note(struct request *q, struct json *tree, const struct json *live);
