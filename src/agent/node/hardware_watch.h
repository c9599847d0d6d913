/* SPDX-License-Identifier: Apache-2.0 */
/* hardware_watch.h - notices changes of the hardware
 *
 * CPUs go offline, memory is removed, a device is lost while the agent runs.
 * The kernel's uevents, a cheap check every few seconds
 * (hardware/fingerprint.h) and a request (SIGHUP) lead to a new discovery, on a
 * worker. When that finds another topology, `changed` is called.
 *
 * Owns:    the timer, the netlink socket of the uevents.
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
    /* The former topology must live as long as other code uses it. */
    void (*changed)(struct topology *is TAKES, const char *words, /* a description of the change */
                    bool is_less,                                 /* hardware is gone */
                    void *context);
    void *context;
};

/* Life. Checks begin with hardware_watch_new. */
void hardware_watch_free(struct hardware_watch *hardware_watch);
struct hardware_watch *hardware_watch_new(const struct hardware_watch_settings *settings)
    OWNED_BY(hardware_watch_free);
DEFINE_CLEANUP(struct hardware_watch, hardware_watch_free)

/* Discovers the hardware now, even if the fingerprint is unchanged. */
void hardware_watch_check(struct hardware_watch *hardware_watch);
