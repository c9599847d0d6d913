/* SPDX-License-Identifier: Apache-2.0 */
/* domain_counts.h - numbers of pods for every node, and so for every domain of
 * a node label, kept between cycles
 *
 * A column belongs to one label: it has a number for every node, and the sums
 * over the nodes that have the same value of the label (a domain). The caller
 * counts: domain_counts_update calls it only for the nodes that have changed
 * since the last update.
 *
 * Owns:       its columns. Nodes are identified by slot.
 * Thread:     the scheduler's.
 * Invariant:  after an update, the same as after counting every node again
 *             (tested).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct domain_counts;
struct node_view;
struct snapshot;

struct domain_column {
    char *label;
    int purpose;          /* set by the caller */
    uint32_t *ids;        /* by slot: the domain; 0: the node lacks the label */
    int64_t *counts;      /* by slot */
    bool *is_in;          /* by slot: the node is a member of its domain */
    int64_t *sums;        /* by domain */
    uint32_t *members;    /* by domain: the number of its members */
    char **values;        /* by domain: the label's value */
    uint32_t n_ids;       /* domains are 1 to n_ids */
    uint32_t n_inhabited; /* domains that have members */
    uint32_t n_not_zero;  /* domains whose sum is not 0 */
    uint32_t capacity;
    struct map *by_value;
    int64_t least; /* sum of a domain with members; INT32_MAX: none */
    bool is_least_stale;
};

/* Counts one node, whose numbers are all 0 before, by calling domain_counts_add
 * and domain_counts_include.
 */
typedef void domain_counts_fn(struct domain_counts *d, const struct node_view *node, void *context);

/* Counts the nodes that have changed; all nodes if `version` differs from the
 * last call, which means that the counting itself depends on something that has
 * changed.
 */
void domain_counts_update(struct domain_counts *d, const struct snapshot *s, uint64_t version,
                          domain_counts_fn *count, void *context);

/* The column for that label and purpose; made when there is none. */
unsigned domain_counts_column(struct domain_counts *d, int purpose, const char *label);
unsigned domain_counts_columns(const struct domain_counts *d);
struct domain_column *domain_counts_at(const struct domain_counts *d, unsigned at);

/* Called while counting. Both ignore a node that lacks the column's label. */
void domain_counts_add(struct domain_counts *d, unsigned column, const struct node_view *node,
                       int64_t by);
void domain_counts_include(struct domain_counts *d, unsigned column, const struct node_view *node);

/* The least sum of the domains that have members. */
int64_t domain_counts_least(struct domain_column *c);

/* A cache of domain counts, by key, which owns them: get makes those that are
 * not there. It drops the one used longest ago.
 */
struct domain_counts_cache;
void domain_counts_cache_free(struct domain_counts_cache *all);
struct domain_counts_cache *domain_counts_cache_new(unsigned most)
    OWNED_BY(domain_counts_cache_free);
DEFINE_CLEANUP(struct domain_counts_cache, domain_counts_cache_free)
struct domain_counts *domain_counts_cache_get(struct domain_counts_cache *all, const char *key);
