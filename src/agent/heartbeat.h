/* SPDX-License-Identifier: Apache-2.0 */
/* heartbeat.h - says that this node lives: its Lease, renewed
 *
 * The Lease of the node's name in kube-node-lease, as upstream's kubelets
 * hold. Made when it is missing; it goes with its Node, so one that is gone
 * says that the Node may be. A renewal that fails is tried again soon; how
 * long ago the last one succeeded is what self-fencing looks at.
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

struct heartbeat_settings {
    struct loop *loop;
    struct client *client;
    struct clock *clock;
    const char *node;
    int64_t every_ms; /* between renewals; 0: 10,000 */
    heartbeat_lost_fn *lost;
    void *context;
};

/* Life. Beats from heartbeat_start on. */
void heartbeat_free(struct heartbeat *heartbeat);
struct heartbeat *heartbeat_new(const struct heartbeat_settings *settings)
    OWNED_BY(heartbeat_free);
DEFINE_CLEANUP(struct heartbeat, heartbeat_free)
void heartbeat_start(struct heartbeat *heartbeat);

/* CLOCK_BOOTTIME of the last renewal that was acknowledged; 0: none yet. */
int64_t heartbeat_last_us(const struct heartbeat *heartbeat);
