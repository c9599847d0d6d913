/* SPDX-License-Identifier: Apache-2.0 */
/* retention.h - how long finished Jobs are kept for queries
 *
 * A finished Job is deleted when its own ttlSecondsAfterFinished has passed,
 * when it is older than the site's limit, or, oldest first, while there are
 * more finished Jobs than the site keeps. Its pods and blobs are deleted with
 * it.
 *
 * Thread: the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct retention;
struct object_cache;

struct retention_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    int64_t max_age_s; /* 0: 7 days */
    int64_t max_count; /* 0: 100,000 */
};

void retention_free(struct retention *retention);
struct retention *retention_new(const struct retention_settings *settings) OWNED_BY(retention_free);
DEFINE_CLEANUP(struct retention, retention_free)
