/* SPDX-License-Identifier: Apache-2.0 */
/* binding_check.h - whether a pod may get a node, and exactly what there
 *
 * Against the node, and against what its other pods were given.
 *
 * Called by: bind.c.
 * Thread:    the API's loop.
 */
#pragma once

#include <stdbool.h>

#include "lib/api/node/binding.h"

struct error;
struct json;
struct object;
struct request;

/* One pod of a request, which may bind several. */
struct bind_member {
    struct request *q;
    const char *name;
    struct json *body;      /* the Binding */
    struct binding binding; /* that, once it was checked */
};

/* Whether a pod that stood still for others may have its cores again: nobody that
 * is live on its node, or is left there, has one of them but who stands still
 * himself. -EEXIST with words otherwise.
 */
int binding_check_may_resume(const struct request *q,
                             const struct object *pod,
                             struct error *err);

/* Everything that may refuse. False: the reply says what. */
bool binding_check(struct bind_member *m, const struct object *pod);
