/* SPDX-License-Identifier: Apache-2.0 */
/* on_behalf.h - a component's request that is made as a user: what a CronJob
 * makes has to pass every rule that its owner has to pass at that moment
 *
 * The user and the groups are looked up in the system each time, so
 * that whoever has lost a right, or is gone, has nothing more made in his name.
 *
 * Called by:  local_client.c.
 * Thread:     the API's.
 */
#pragma once

#include <sys/types.h>

struct request;

/* The request's principal is that user when `begin` is called. Where there is
 * no such user, or the user asks too much, the reply is made and the request
 * ended instead.
 */
void
on_behalf_start(struct request *q, uid_t uid, void (*begin)(struct request *q));
