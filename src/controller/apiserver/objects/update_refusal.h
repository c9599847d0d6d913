/* SPDX-License-Identifier: Apache-2.0 */
/* update_refusal.h - why a Job's template may not be changed as requested
 *
 * A pod with a node runs with what its node received. Only its time limit can
 * change: its owner may lower it, and an agent of an earlier release does not
 * learn of that. An array may always change, because the change concerns only
 * its tasks that have no node. Everything is read in the pending state, so bindings and
 * updates see each other in the order in which they arrive.
 *
 * Thread:  the loop's.
 */
#pragma once

#include "lib/api/job/job_update.h"

struct apiserver;
struct arena;
struct json;
struct object;
struct principal;

/* A message for people, in the arena, or NULL when the change is allowed.
 * `spec` is the pod spec of the new template; `what` is how it differs from the
 * old one.
 */
const char *update_refusal(const struct apiserver *server, const struct principal *principal,
                           const struct object *job, enum job_update what, const struct json *spec,
                           struct arena *arena);

/* The same for a new time limit in the pod spec: its warning signal could never be sent, because it
 * is due so long before the limit.
 */
const char *update_refusal_of_warning(const struct json *spec, struct arena *arena);
