/* SPDX-License-Identifier: Apache-2.0 */
/* volumes.h - the volumes of this node's scratch, as the API wants them
 *
 * Follows those that a claim got, or will get, from this node: makes what is
 * Pending and says that it is Available, or Failed and why; removes what is
 * deleted and says that it is (status.reason Removed). Reports that did not
 * reach the API are sent again.
 *
 * Owns:    its informer, and the work under way.
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
    uid_t uid; /* of the agent: a rootless one makes its user's alone */
};

/* Life. Work that is under way on a worker when it is freed is freed when that
 * worker is done.
 */
void volumes_free(struct volumes *v);
struct volumes *volumes_new(const struct volumes_settings *settings)
    OWNED_BY(volumes_free);
DEFINE_CLEANUP(struct volumes, volumes_free)

/* The controller answers again: what it wants is asked for within so long. */
void volumes_retry_soon(struct volumes *v, int64_t within_ms);
