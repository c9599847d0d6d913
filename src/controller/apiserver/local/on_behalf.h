/* SPDX-License-Identifier: Apache-2.0 */
/* on_behalf.h - a component's request that is made as a user: an object that a
 * CronJob creates has to pass every rule that its owner would have to pass now
 *
 * The user and the groups are looked up in the system each time, so that
 * nothing is created in the name of a user who has lost a right or no longer
 * exists.
 *
 * Called by:  local_client.c.
 * Thread:     the API's.
 */
#pragma once

#include <sys/types.h>

struct request;

/* When `begin` is called, the request's principal is that user. If the user
 * does not exist or exceeds a rate limit, the reply is made and the request is
 * finished instead.
 */
void on_behalf_start(struct request *q, uid_t uid, void (*begin)(struct request *q));
