/* SPDX-License-Identifier: Apache-2.0 */
/* node_finder.h - finds the node for a pod: filter, score, pick one of the best
 *
 * A pod that can share results uses kept results (node_results.h) or, while
 * there are none for its signature, a bounded search (bounded_search.h). For
 * other pods every node is evaluated, or a sample of the nodes when the profile
 * says so. Nothing in the cluster changes here.
 *
 * Owns:    the result cache, the bounded search, and the data of the last
 *          search.
 * Thread:  the scheduler's.
 *
 * Source: kube-scheduler, schedule_one.go (findNodesThatFitPod,
 *         prioritizeNodes, selectHost).
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
    struct cycle_trace *trace; /* measures the steps; or NULL */
    bool is_sharing;           /* keep results */
    size_t result_bytes;       /* of all kept results together; 0: 64 MiB */
    /* The number of nodes from which a bounded search is used; 0: 256 */
    uint32_t bounded_search_nodes;
};

void node_finder_free(struct node_finder *f);
struct node_finder *node_finder_new(const struct node_finder_settings *settings)
    OWNED_BY(node_finder_free);
DEFINE_CLEANUP(struct node_finder, node_finder_free)

/* Returns the node, or NULL and the diagnosis. Both are valid until the next
 * search or change of the cache. `extender_results` is NULL for a pod that no
 * extender handles. For other pods the function also returns NULL when the
 * extenders must first be asked about the nodes in the facts (must_ask).
 */
struct node_view *node_finder_find(struct node_finder *f, const struct profile *profile,
                                   struct cycle *c,
                                   const struct extender_results *extender_results);

/* Whether the pod may go to this node, without a look at any other. The cycle is
 * as after a search that found the node.
 */
bool node_finder_fits(const struct profile *profile, struct cycle *c, struct node_view *node);

/* Runs PreFilter alone, after which nodes can be filtered. False: it rejects the pod. */
bool node_finder_prepare(const struct profile *profile, struct cycle *c);

/* Finds the answers of all nodes as if a search had evaluated each of them; feasible nodes
 * have VERDICT_OK.
 */
void node_finder_diagnose(struct node_finder *f, const struct profile *profile, struct cycle *c);

const struct diagnosis *node_finder_diagnosis(const struct node_finder *f);

/* About the last search: how many nodes were filtered and how many passed (a
 * bounded search filters only a few), and whether kept results were used.
 * Without kept results also the nodes that passed and their totals (none for a
 * single node).
 */
struct node_finder_facts {
    unsigned evaluated;
    unsigned feasible;
    bool by_cache;
    bool by_bounds;
    bool must_ask; /* ask the extenders about the nodes that passed */
    int64_t total;
    struct node_view *const *nodes;
    const int64_t *totals;
    unsigned n_totals;
};
struct node_finder_facts node_finder_facts(const struct node_finder *f);

/* Drops the kept results. It is needed when the answers of plugins have changed although the
 * nodes have not.
 */
void node_finder_forget(struct node_finder *f);

/* State that one search leaves for the next: where a sample of the nodes
 * begins, and the random source for ties. A search that only answers a question
 * restores it afterwards, so that asking changes no later decision.
 */
struct node_finder_place {
    uint32_t next_start;
    struct random_source random;
};

struct node_finder_place node_finder_place(const struct node_finder *f);
void node_finder_set_place(struct node_finder *f, struct node_finder_place place);

/* How many feasible nodes end a search; percentage 0: adaptive. */
uint32_t node_finder_wanted(unsigned percentage, uint32_t n_nodes);
