/* SPDX-License-Identifier: Apache-2.0 */
/* hardware_watch.h - notices that the hardware is not what it was
 *
 * CPUs go offline, memory is removed, a device is lost while the agent runs.
 * The kernel's announcements (uevents), a cheap look every few seconds
 * (hardware/fingerprint.h) and a request (SIGHUP) lead to a new discovery, on a
 * worker; when that finds another topology its owner is told.
 *
 * Owns:    the timer, the socket of the announcements.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct hardware_request;
struct hardware_watch;
struct loop;
struct topology;
struct workers;

struct hardware_watch_settings {
    struct loop *loop;
    struct workers *workers;
    const struct hardware_request *request; /* borrowed */
    const struct topology *topology;        /* as discovered; borrowed */
    int64_t every_ms;
    /* The former topology must live as long as anybody uses it. */
    void (*changed)(struct topology *is TAKES,
                    const char *words, /* of what has changed */
                    bool is_less,      /* something is gone */
                    void *context);
    void *context;
};

/* Life. Looks from the start on. */
void hardware_watch_free(struct hardware_watch *hardware_watch);
struct hardware_watch *
hardware_watch_new(const struct hardware_watch_settings *settings)
    OWNED_BY(hardware_watch_free);
DEFINE_CLEANUP(struct hardware_watch, hardware_watch_free)

/* Look now, also where nothing seems to have changed. */
void hardware_watch_check(struct hardware_watch *hardware_watch);
