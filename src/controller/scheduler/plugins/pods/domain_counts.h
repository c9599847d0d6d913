/* SPDX-License-Identifier: Apache-2.0 */
/* domain_counts.h - how many of some pods there are on every node, and so in
 * every domain of a node label, kept from cycle to cycle
 *
 * Domain counts have columns, each for one label: a number for every node, and
 * the sums over the nodes that have the same value of the label (a domain). The
 * caller counts: domain_counts_update asks it for the nodes that have changed
 * since, and for those alone.
 *
 * Owns:       its columns. Nodes are known by slot.
 * Thread:     the scheduler's.
 * Invariant:  after an update, the same as counting every node anew (tested).
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
    int purpose;       /* the caller's */
    uint32_t *ids;     /* by slot: the domain; 0: the node has no such label */
    int64_t *counts;   /* by slot */
    bool *is_in;       /* by slot: the node is a member of its domain */
    int64_t *sums;     /* by domain */
    uint32_t *members; /* by domain: nodes that were said to be in it */
    char **values;     /* by domain: its text */
    uint32_t n_ids;    /* domains are 1 to n_ids */
    uint32_t n_inhabited; /* domains that have members */
    uint32_t n_not_zero;  /* domains whose sum is not 0 */
    uint32_t capacity;
    struct map *by_value;
    int64_t least; /* of domains with members; INT32_MAX for none */
    bool is_least_stale;
};

/* Life */
void domain_counts_free(struct domain_counts *h);
struct domain_counts *domain_counts_new(void) OWNED_BY(domain_counts_free);
DEFINE_CLEANUP(struct domain_counts, domain_counts_free)

/* Counts one node, all of whose numbers are 0, by domain_counts_add and
 * domain_counts_include.
 */
typedef void domain_counts_fn(struct domain_counts *h,
                              const struct node_view *node,
                              void *context);

/* Brings it up to date; everything anew when `version` is another one than at
 * the last time (what the counting itself goes by has changed).
 */
void domain_counts_update(struct domain_counts *h,
                          const struct snapshot *s,
                          uint64_t version,
                          domain_counts_fn *count,
                          void *context);

/* The column for that label and purpose, made when it is not there. */
unsigned
domain_counts_column(struct domain_counts *h, int purpose, const char *label);
unsigned domain_counts_columns(const struct domain_counts *h);
struct domain_column *domain_counts_at(const struct domain_counts *h,
                                       unsigned at);

/* While counting. A node without the label is none of the column's. */
void domain_counts_add(struct domain_counts *h,
                       unsigned column,
                       const struct node_view *node,
                       int64_t by);
void domain_counts_include(struct domain_counts *h,
                           unsigned column,
                           const struct node_view *node);

/* The least of the sums of domains that have members. */
int64_t domain_counts_least(struct domain_column *c);

/* A cache of them, by what they count. It drops the one used longest ago. */
struct domain_counts_cache;
void domain_counts_cache_free(struct domain_counts_cache *all);
struct domain_counts_cache *domain_counts_cache_new(unsigned most)
    OWNED_BY(domain_counts_cache_free);
struct domain_counts *domain_counts_cache_get(struct domain_counts_cache *all,
                                              const char *key);
