/* SPDX-License-Identifier: Apache-2.0 */
/* gang_holders.h - ends what holds nodes for a script that is over, when no Job does
 *
 * The script of a job of several nodes runs in one pod, and the others hold resources
 * until the Job ends them. A Job that is deleted without its pods leaves them behind:
 * the script runs on, as any orphan does, with its nodes, and when it is over, the pods
 * that held these for it are deleted.
 *
 * Owns:    the number of live scripts of each group, and the orphans that hold for one.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct gang_holders;
struct loop;
struct object_cache;

void gang_holders_free(struct gang_holders *h);
struct gang_holders *gang_holders_new(struct loop *loop, struct client *client,
                                      struct object_cache *cache) OWNED_BY(gang_holders_free);
DEFINE_CLEANUP(struct gang_holders, gang_holders_free)
