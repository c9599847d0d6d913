/* SPDX-License-Identifier: Apache-2.0 */
/* authorization.h - who may do what, and what each right covers
 *
 * The rights of a kind (lib/api/object/rights.h), and those for every kind,
 * give a scope for a principal, a verb and a subresource. Whether the scope
 * covers an object is checked when the object is found. Everything else is
 * refused.
 *
 * Thread:  the loop's. The rights themselves are constants.
 * See:     controller/apiserver/DESIGN.md, "Who decides".
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"

struct json;
struct kind;
struct object;
struct request;

enum scope authorization_scope(enum principal_type principal, enum verb verb,
                               const struct kind *kind, enum subresource subresource);

/* Call before the verb. Sets the request's scope. Returns false, with a 403,
 * when no right allows the request, or none for its namespace or name.
 */
bool authorization_check(struct request *request);

/* Call for an object that the verb found. Returns false, with a 403, when the
 * scope does not cover the object.
 */
bool authorization_covers(struct request *request, const struct object *object);

/* Operators may change only some fields of other users' jobs and pods. Returns
 * false when the reply is made.
 */
bool authorization_check_change(struct request *request, const struct object *old_object,
                                const struct json *tree);

/* Whether the principal may read all fields; if not, only the redacted text. */
bool authorization_reads_whole(const struct principal *principal, const struct object *object);
