/* SPDX-License-Identifier: Apache-2.0 */
/* leadership.h - one of several does the work: who holds a Lease
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
struct leadership;

struct leadership_settings {
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
    /* It can be neither taken nor renewed, once for each reason; may be NULL. */
    void (*failed)(const char *why, void *context);
    void *context;

    /* True while it leads, or did, and cannot renew: for other threads to
     * read. May be NULL.
     */
    atomic_bool *is_failing;
};

/* Life. Texts are copied. Free says nothing to anybody; the lease runs out. */
void leadership_free(struct leadership *l);
struct leadership *leadership_new(const struct leadership_settings *settings)
    OWNED_BY(leadership_free);
DEFINE_CLEANUP(struct leadership, leadership_free)

/* Does what time brings; call it a few times a second. */
void leadership_tick(struct leadership *l);

/* Look */
bool leadership_is_mine(const struct leadership *l);
