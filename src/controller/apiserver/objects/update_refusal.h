/* SPDX-License-Identifier: Apache-2.0 */
/* update_refusal.h - why a Job's template may not change as it is asked to
 *
 * A pod that has a node is as the node was told: only its time limit changes,
 * which its owner may lower, and an agent of a former release does not hear of.
 * All of it is looked up in the pending state, so whichever of a binding and an
 * update comes first is known to the other.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/api/job/job_update.h"

struct apiserver;
struct arena;
struct json;
struct object;
struct principal;

/* Words for people, in the arena, or NULL: it may. `spec` is the new one of the
 * template; what: how it differs from the old one.
 */
const char *update_refusal(const struct apiserver *server,
                           const struct principal *principal,
                           const struct object *job,
                           enum job_update what,
                           const struct json *spec,
                           struct arena *arena);
