/* SPDX-License-Identifier: Apache-2.0 */
/* election.h - a component works while this controller holds its Lease
 *
 * Where no leader is elected, it works from the beginning.
 *
 * Owns:    the leadership and its timer.
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
    const char *lease_name; /* NULL: the file's */
    atomic_bool *is_failing;
    election_turn_fn *gained; /* both are told in the log, too */
    election_turn_fn *lost;
    void *context;
};

/* Life. Where no leader is elected, `gained` runs at once. */
void election_free(struct election *e);
struct election *election_new(const struct election_settings *settings)
    OWNED_BY(election_free);
