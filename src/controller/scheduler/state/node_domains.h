/* SPDX-License-Identifier: Apache-2.0 */
/* node_domains.h - the parts of the cluster by labels of nodes: blocks, racks, switches
 *
 * A *level* is the key of a label; the nodes with the same value of it are a *domain* of
 * the level. The configured levels are in order, the widest first; the domains of the
 * last one are the *leaves*. Each domain counts its nodes by the size of what they have
 * free, so that a look at a domain passes over its nodes. An update costs only as much as
 * has changed.
 *
 * Owns:    the domains, and references to the nodes' objects; the views are the cache's.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct node_domains;
struct node_view;
struct object;
struct snapshot;

#define DOMAIN_LEVELS_MAX 8u

/* Sizes of free CPU, from one to the next by a factor of 1.33 to 1.5. */
#define DOMAIN_SIZES 48u

struct node_domain {
    char *value;
    unsigned index;           /* in its level */
    struct node_view **nodes; /* by name */
    uint32_t n_nodes, capacity;
    uint32_t of_size[DOMAIN_SIZES]; /* how many nodes have so much free */
};

/* Domains stay when their last node goes. */
struct domain_level {
    char *key;
    struct map *by_value;
    struct node_domain **domains;
    unsigned n_domains, capacity;
    struct node_domain **of_slot; /* NULL: the node lacks the label */
    uint64_t used;                /* when it was asked for; of levels that are not configured */
};

/* The pods to be placed: of that much CPU each. */
struct domain_need {
    int64_t mcpu;
    bool is_one_per_node;
};

/* Life. At most DOMAIN_LEVELS_MAX keys, the widest level first. */
void node_domains_free(struct node_domains *d);
struct node_domains *node_domains_new(const char *const *keys, unsigned count)
    OWNED_BY(node_domains_free);
DEFINE_CLEANUP(struct node_domains, node_domains_free)

void node_domains_update(struct node_domains *d, const struct snapshot *snapshot);

/* As of the last update. */
unsigned node_domains_count(const struct node_domains *d);

/* Returns a configured level. */
const struct domain_level *node_domains_level(const struct node_domains *d, unsigned index);

/* Updates, and finds the level of any label; the last that are not configured are kept. */
const struct domain_level *node_domains_find(struct node_domains *d,
                                             const struct snapshot *snapshot, const char *key);

/* Returns the index of a configured level, or -1. */
int node_domains_index(const struct node_domains *d, const char *key);

/* The domain of a node that exists, or NULL. */
const struct node_domain *domain_level_of(const struct domain_level *level,
                                          const struct node_view *node);

/* For how many pods there is room at most, by CPUs alone: a bound by the sizes, and by
 * the nodes themselves, without those that are closed. Of node: of one of them.
 */
uint64_t node_domain_most(const struct node_domain *domain, const struct domain_need *need);
uint64_t node_domain_room(const struct node_domain *domain, const struct domain_need *need);
uint64_t domain_need_room(const struct domain_need *need, const struct node_view *node);

/* Whether the change of a node moves it to another domain of any of the levels. */
bool node_domains_differ(const struct node_domains *d, const struct object *old_node,
                         const struct object *new_node);
