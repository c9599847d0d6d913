/* SPDX-License-Identifier: Apache-2.0 */
/* chore.h - the calls that the work on one key takes, and its end when the
 * last of them has been answered
 *
 * Called by:  the loops that clear up, from within their work function.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct chore;
struct client;
struct client_request;
struct object;
struct workqueue;

/* Life. End: no more calls are made; the key is done when all are answered,
 * and comes back when one has failed. What is not there is no failure.
 */
struct chore *
chore_begin(struct client *client, struct workqueue *queue, const char *key);
void chore_end(struct chore *chore TAKES);

/* Change. Again: the key comes back in any case. */
void chore_call(struct chore *chore,
                struct arena *arena TAKES,
                const struct client_request *request);
void chore_delete(struct chore *chore, const struct object *object);
void chore_lift_finalizer(struct chore *chore,
                          const struct object *object,
                          const char *name);
void chore_again_after(struct chore *chore, int64_t ms);
