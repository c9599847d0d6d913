/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_bond.h - which cluster this node belongs to, and how far it had come
 *
 * The file `cluster` in the state directory holds the cluster's uid and the
 * latest mark (see controller/apiserver/cluster_mark.c). An agent without one
 * learns it from the first controller that it asks. A controller of another
 * cluster, or with an empty store, is told apart before anything is done that
 * it says: what runs here is kept.
 *
 * Owns:    the file; borrows the client.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct cluster_bond;
struct loop;

enum bond_answer {
    BOND_OURS,    /* or of a release that does not say */
    BOND_OLDER,   /* ours, whose store has lost something since the last one */
    BOND_FOREIGN, /* of another cluster */
    BOND_REFUSED, /* it does not believe who we are */
    BOND_UNKNOWN, /* there was no answer; asked again by itself */
};

struct cluster_bond_settings {
    struct loop *loop;
    struct client *client;
    const char *node;
    const char *state_dir;
    int64_t every_ms; /* from the first answer on */
    void (*answered)(enum bond_answer answer, void *context);
    void *context;
};

/* Life */
void cluster_bond_free(struct cluster_bond *bond);
struct cluster_bond *
cluster_bond_new(const struct cluster_bond_settings *settings)
    OWNED_BY(cluster_bond_free);

/* Change. Asks now; one that is under way is asked once more. */
void cluster_bond_ask(struct cluster_bond *bond);

/* Look: whether that revision is one of those which the cluster's store has
 * lost, by the last answer.
 */
bool cluster_bond_has_lost(const struct cluster_bond *bond, int64_t revision);
