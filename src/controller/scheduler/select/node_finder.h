/* SPDX-License-Identifier: Apache-2.0 */
/* node_finder.h - the node for a pod: filter, score, and one of the best
 *
 * Pods that can share results go by kept results (node_results.h), or as long
 * as there is none for their like by a bounded search (bounded_search.h); the
 * others have every node looked at, or a sample in turn when the profile says
 * so. Nothing in the cluster changes here.
 *
 * Owns:    the result cache, the bounded search, and what the last choice left
 *          behind.
 * Thread:  the scheduler's.
 *
 * Source: kube-scheduler, schedule_one.go (findNodesThatFitPod,
 * prioritizeNodes, selectHost).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/diagnosis.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"

struct extender_results;
struct node_finder;
struct cycle;
struct handle;
struct string_ids;
struct node_view;
struct profile;
struct cycle_trace;

struct node_finder_settings {
    struct handle *handle;
    struct string_ids *signatures;
    struct cycle_trace *trace; /* where the time goes; or NULL */
    bool is_sharing;           /* keep results */
    size_t result_bytes;       /* of all kept results together; 0: 64 MiB */
    uint32_t
        bounded_search_nodes; /* a bounded search from so many nodes on; 0: 256 */
};

void node_finder_free(struct node_finder *ch);
struct node_finder *node_finder_new(const struct node_finder_settings *settings)
    OWNED_BY(node_finder_free);
DEFINE_CLEANUP(struct node_finder, node_finder_free)

/* Returns the node, or NULL with the diagnosis. Both are valid until the next
 * choice or change of the cache. The extenders' results are NULL for a pod that
 * no extender is concerned with; for others the call also returns NULL when
 * they must first be asked about the nodes of the facts.
 */
struct node_view *
node_finder_find(struct node_finder *ch,
                 const struct profile *profile,
                 struct cycle *c,
                 const struct extender_results *extender_results);
const struct diagnosis *node_finder_diagnosis(const struct node_finder *ch);

/* Of the last choice: how many nodes were filtered, how many passed (a bounded
 * search looks at few of them), whether kept results were used; and without
 * one, which passed and their totals (none are made for a single node).
 */
struct node_finder_facts {
    unsigned evaluated;
    unsigned feasible;
    bool by_cache;
    bool by_bounds;
    bool must_ask; /* extenders about those that passed */
    int64_t total;
    struct node_view *const *nodes;
    const int64_t *totals;
    unsigned n_totals;
};
struct node_finder_facts node_finder_facts(const struct node_finder *ch);

/* Drops the kept results: what plugins answer has changed, and the nodes have
 * not.
 */
void node_finder_forget(struct node_finder *ch);

/* A search leaves this for the next: where a sample of the nodes begins, and
 * the dice for ties. A search that is a question only puts back what it found,
 * so that asking changes no decision.
 */
struct node_finder_place {
    uint32_t next_start;
    struct random_source random;
};

struct node_finder_place node_finder_place(const struct node_finder *ch);
void node_finder_set_place(struct node_finder *ch,
                           struct node_finder_place place);

/* How many feasible nodes end a search; percentage 0: adaptive. */
uint32_t feasible_wanted(unsigned percentage, uint32_t n_nodes);
