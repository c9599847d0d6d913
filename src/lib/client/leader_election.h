/* SPDX-License-Identifier: Apache-2.0 */
/* leader_election.h - one of several does the work: who holds a Lease
 *
 * The lease is taken when nobody holds it or its holder has not renewed it for
 * its duration, by our own clock; it is renewed every retry period. A holder
 * that could not renew for the renew deadline has lost it, and stops before
 * anybody else may begin. Whoever has our own identity is ourselves before a
 * restart: nothing is waited for then, so identities must be unique among
 * those that may run at the same time.
 *
 * Thread:  its client's.
 * Source:  client-go, tools/leaderelection.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
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
    int64_t lease_us;
    int64_t renew_us; /* the deadline */
    int64_t retry_us;
    void (*gained)(void *context);
    void (*lost)(const char *why, void *context);
    /* It can be neither taken nor renewed, once for each reason; may be NULL.
     */
    void (*failed)(const char *why, void *context);
    void *context;

    /* True while it leads, or did, and cannot renew: for other threads to
     * read. May be NULL.
     */
    atomic_bool *is_failing;
};

/* Life. Texts are copied. Free says nothing to anybody; the lease runs out. */
void leader_election_free(struct leader_election *l);
struct leader_election *
leader_election_new(const struct leader_election_settings *settings)
    OWNED_BY(leader_election_free);
DEFINE_CLEANUP(struct leader_election, leader_election_free)

/* Does what time brings; call it a few times a second. */
void leader_election_tick(struct leader_election *l);

/* Look */
bool leader_election_is_leader(const struct leader_election *l);
