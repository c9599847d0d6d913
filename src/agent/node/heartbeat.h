/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat.h - reports that this node lives: renews its Lease
 *
 * The Lease has the node's name in kube-node-lease, like those of upstream's
 * kubelets. It is created when it is missing. A Lease is deleted with its Node,
 * so a missing Lease means that the Node may be missing. A failed renewal is
 * tried again soon.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct heartbeat;
struct loop;

/* A Lease that was renewed before no longer exists. */
typedef void heartbeat_lost_fn(void *context);

/* A renewal was acknowledged that was sent at that CLOCK_BOOTTIME. */
typedef void heartbeat_renewed_fn(int64_t sent_us, void *context);

/* A renewal was acknowledged after others had failed. */
typedef void heartbeat_back_fn(void *context);

struct heartbeat_settings {
    struct loop *loop;
    struct client *client;
    struct clock *clock;
    const char *node;
    int64_t every_ms; /* between renewals; 0: 10,000 */
    heartbeat_lost_fn *lost;
    heartbeat_renewed_fn *renewed; /* or NULL */
    heartbeat_back_fn *back;       /* or NULL */
    void *context;
};

/* Life. Renewals begin with heartbeat_start. */
void heartbeat_free(struct heartbeat *heartbeat);
struct heartbeat *heartbeat_new(const struct heartbeat_settings *settings) OWNED_BY(heartbeat_free);
DEFINE_CLEANUP(struct heartbeat, heartbeat_free)
void heartbeat_start(struct heartbeat *heartbeat);

/* Sends the next renewal now if none is under way, because the controller has
 * not received one for too long.
 */
void heartbeat_hasten(struct heartbeat *heartbeat);
