/* SPDX-License-Identifier: Apache-2.0 */
/* leader_election.h - elects one of several processes by a Lease
 *
 * The lease is taken when it has no holder, or when its holder has not renewed
 * it for its duration, measured by the local clock; it is renewed every retry
 * period. A holder that could not renew within the renew deadline has lost the
 * lease, and stops before another process may begin. A lease held under our own
 * identity is ours from before a restart and is taken without waiting, so the
 * identities of processes that may run at the same time must differ.
 *
 * Thread:  its client's.
 * Source:  client-go, tools/leaderelection.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct leader_election;

struct leader_election_settings {
    struct client *client;
    struct clock *clock;
    const char *namespace;
    const char *name; /* of the Lease */
    const char *identity;
    /* Holders "NAME_GROUP" exclude each other by other means, so that one that is
     * there is from before: its lease is taken at once. May be NULL; not copied.
     */
    const char *group;
    int64_t lease_us;
    int64_t renew_us; /* the deadline */
    int64_t retry_us;
    void (*gained)(void *context);
    void (*lost)(const char *why, void *context);
    /* Called once for each reason when the lease can be neither taken nor
     * renewed; may be NULL.
     */
    void (*failed)(const char *why, void *context);
    void *context;

    /* True while this process holds or has lost the lease and cannot renew it;
     * read by other threads. May be NULL.
     */
    atomic_bool *is_failing;
};

/* Life. Texts are copied. Free does not release the lease, which expires. */
void leader_election_free(struct leader_election *l);
struct leader_election *leader_election_new(const struct leader_election_settings *settings)
    OWNED_BY(leader_election_free);
DEFINE_CLEANUP(struct leader_election, leader_election_free)

/* Takes or renews the lease when that is due; call it a few times a second. */
void leader_election_tick(struct leader_election *l);
