/* SPDX-License-Identifier: Apache-2.0 */
/* volumes.h - the volumes of this node's scratch, as the API wants them
 *
 * Follows the volumes on this node: makes those that are Pending and sets them
 * to Available, or to Failed with a message; removes those that are deleted and
 * reports that (status.reason Removed). Reports that did not reach the API are
 * sent again.
 *
 * Owns:    its informer, and the actions under way.
 * Thread:  the loop's; directories are made and removed on workers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct client;
struct loop;
struct scratch;
struct volumes;
struct workers;

struct volumes_settings {
    struct loop *loop;
    struct workers *workers;
    struct client *client;
    struct scratch *scratch;
    const char *node;
    bool rootless;
    uid_t uid; /* the agent's; a rootless one makes volumes of this user only */
};

/* Life. An action that runs on a worker when volumes_free is called is freed
 * when the worker has done it.
 */
void volumes_free(struct volumes *v);
struct volumes *volumes_new(const struct volumes_settings *settings) OWNED_BY(volumes_free);
DEFINE_CLEANUP(struct volumes, volumes_free)

/* The controller answers again: the watch is opened again within that time. */
void volumes_retry_soon(struct volumes *v, int64_t within_ms);
