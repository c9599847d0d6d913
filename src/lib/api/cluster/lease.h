/* SPDX-License-Identifier: Apache-2.0 */
/* lease.h - a lock that must be renewed: node heartbeats, leader election
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"

struct object;

struct lease_spec {
    const char *holder;
    int64_t duration_s;
    int64_t acquired_at_us;
    int64_t renewed_at_us;
    int64_t transitions;
};

struct lease {
    struct meta meta;
    struct lease_spec spec;
};

extern const struct record lease_record;

/* The heartbeat of a node is the lease with its name in this namespace. */
#define NODE_LEASE_NAMESPACE "kube-node-lease"

const struct lease *lease_of(const struct object *object);
