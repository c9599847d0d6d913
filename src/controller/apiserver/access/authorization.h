/* SPDX-License-Identifier: Apache-2.0 */
/* authorization.h - who may do what, and what each right covers
 *
 * The rights of a kind (lib/api/object/rights.h), and those of every kind, give
 * a scope to a principal, a verb and a subresource; whether a scope covers one
 * object is asked when the object is at hand. Every other request is refused.
 *
 * Thread: the loop's. The rights themselves are constants.
 * See:    DESIGN.md section 3, "Who may do what".
 */
#pragma once

#include <stdbool.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/request.h"

struct json;
struct kind;
struct object;
struct request;

enum scope authorization_scope(enum principal_type principal,
                               enum verb verb,
                               const struct kind *kind,
                               enum subresource subresource);

/* Before the verb: false, and a 403, when no right allows it, or none for that
 * namespace or name. Sets the request's scope.
 */
bool authorization_check(struct request *request);

/* Of one object that the verb found: false, and a 403, when the scope does
 * not cover it.
 */
bool authorization_covers(struct request *request, const struct object *object);

/* An operator changes only what operators are for, in jobs and pods that are
 * not their own. False: the reply is made.
 */
bool authorization_check_change(struct request *request,
                                const struct object *old_object,
                                const struct json *tree);

/* Whether the principal may read all fields, or the redacted text alone. */
bool authorization_reads_whole(const struct principal *principal,
                               const struct object *object);
