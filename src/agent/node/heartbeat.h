/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat.h - says that this node lives: its Lease, renewed
 *
 * The Lease of the node's name in kube-node-lease, as upstream's kubelets
 * hold. Made when it is missing; it goes with its Node, so one that is gone
 * says that the Node may be. A renewal that fails is tried again soon.
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

/* The Lease that was renewed before is not there any more. */
typedef void heartbeat_lost_fn(void *context);

/* The renewal sent at that CLOCK_BOOTTIME was acknowledged. */
typedef void heartbeat_renewed_fn(int64_t sent_us, void *context);

/* So was this one, after others that failed. */
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

/* Life. Beats from heartbeat_start on. */
void heartbeat_free(struct heartbeat *heartbeat);
struct heartbeat *heartbeat_new(const struct heartbeat_settings *settings)
    OWNED_BY(heartbeat_free);
DEFINE_CLEANUP(struct heartbeat, heartbeat_free)
void heartbeat_start(struct heartbeat *heartbeat);

/* The next renewal is now, where none is under way: the controller has not heard
 * of the node for too long.
 */
void heartbeat_hasten(struct heartbeat *heartbeat);
