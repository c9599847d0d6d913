/* SPDX-License-Identifier: Apache-2.0 */
/* election.h - runs a component while this controller holds its Lease
 *
 * Without leader election the component runs from the start.
 *
 * Owns:    the leader election and its timer.
 * Thread:  the component's.
 * See:     lib/client/leader_election.h.
 */
#pragma once

#include <stdatomic.h>

#include "lib/base/macro.h"

struct client;
struct controller_settings;
struct election;
struct loop;
struct metric_registry;

typedef void election_turn_fn(void *context);

struct election_settings {
    const struct controller_settings *settings;
    struct loop *loop;
    struct client *client;
    struct metric_registry *metrics;
    const char *lease_name; /* NULL: that of the scheduler's configuration */
    atomic_bool *is_failing;
    election_turn_fn *gained; /* both are logged, too */
    election_turn_fn *lost;
    void *context;
};

/* Life. Without leader election, `gained` runs at once. */
void election_free(struct election *e);
struct election *election_new(const struct election_settings *settings) OWNED_BY(election_free);
