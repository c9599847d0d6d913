/* SPDX-License-Identifier: Apache-2.0 */
/* binding_check.h - whether a pod may be bound to a node with a given
 * allocation
 *
 * Checked against the node, and against the allocations of its other pods.
 *
 * Called by:  bind.c, kinds/pod_hooks.c.
 * Thread:     the API's loop.
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
    struct binding binding; /* decoded from `body` by binding_check */
};

/* Whether a pod that yielded its cores to others may have them again: no live
 * pod on its node and no retained allocation has any of them, except pods that
 * have yielded, too. If not, -EEXIST with a message.
 */
int binding_check_may_resume(const struct request *q, const struct object *pod, struct error *err);

/* All checks that may refuse the binding. Returns false when the reply says
 * why.
 */
bool binding_check(struct bind_member *m, const struct object *pod);

/* For checks elsewhere (kind_hooks.may_bind): replies with a conflict, and returns false. */
bool binding_check_refuse(struct bind_member *m, const char *why);
