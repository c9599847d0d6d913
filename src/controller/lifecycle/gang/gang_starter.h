/* SPDX-License-Identifier: Apache-2.0 */
/* gang_starter.h - lets the pods of a gang start once all of them are prepared
 *
 * For the gangs of Jobs (ANNOTATION_START_BARRIER); a gang of pods without a Job starts
 * as upstream's does, each pod when it can. The pods themselves say that they are
 * prepared and may start, so a restart changes nothing. If some members are prepared and others are
 * not within a limit, the others are ended, and with them the attempt: nothing has run.
 *
 * Owns:    the number of prepared pods of each gang that awaits its start.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct gang_starter;
struct loop;
struct object_cache;

struct gang_starter_settings {
    struct loop *loop;
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    int64_t wait_ms; /* how long prepared pods wait for the others; 0: for ever */
};

void gang_starter_free(struct gang_starter *s);
struct gang_starter *gang_starter_new(const struct gang_starter_settings *settings)
    OWNED_BY(gang_starter_free);
DEFINE_CLEANUP(struct gang_starter, gang_starter_free)
