/* SPDX-License-Identifier: Apache-2.0 */
/* group_domains.h - the domains of the topology as of now, and where a group is
 *
 * Owns:       the domains of the configured levels, which may be exchanged.
 * Called by:  whoever places groups or plans for them.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct cache;
struct domain_level;
struct group_domains;
struct node_domain;
struct node_domains;
struct pod_view;
struct snapshot;
struct topology_levels;

/* All of these are borrowed. */
struct group_domains_settings {
    struct topology_levels *topology; /* NULL: no levels */
    struct cache *cache;
    struct snapshot *snapshot;
};

/* Life */
void group_domains_free(struct group_domains *g);
struct group_domains *group_domains_new(const struct group_domains_settings *settings)
    OWNED_BY(group_domains_free);

/* Takes new levels from the settings; false: they are the same. */
bool group_domains_renew(struct group_domains *g);

/* The domains, valid until new levels are taken. */

/* Returns the domains after an update of the snapshot and of the domains. */
struct node_domains *group_domains_now(struct group_domains *g);

/* Returns the domains as of the last update. */
struct node_domains *group_domains_last(const struct group_domains *g);

/* Returns the level whose domain all pods of the group must share, and the domain that some
 * of them have, or NULL. NULL: they may be anywhere (`key` is NULL).
 */
const struct domain_level *group_domains_find(struct group_domains *g, const struct pod_view *pod,
                                              const char *key,
                                              const struct node_domain **ret_taken);

/* Returns the domain where other pods of the group are, or NULL. */
const struct node_domain *group_domains_taken(const struct group_domains *g,
                                              const struct domain_level *level,
                                              const struct pod_view *pod);
