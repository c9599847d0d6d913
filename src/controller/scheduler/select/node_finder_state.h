/* SPDX-License-Identifier: Apache-2.0 */
/* node_finder_state.h - private data of a node finder, shared by its own files
 *
 * Called by:  node_finder.c (the ways to find a node), others_choice.c (what is
 *             on other nodes), timed_choice.c (what is reserved).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/report/cycle_trace.h"
#include "controller/scheduler/select/answer_counts.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/select/rejected_nodes.h"

struct bounded_search;
struct kept_refusals;
struct node_results;
struct refusal_answers;
struct result_cache;
struct snapshot;

#define ALL_PLUGINS (~(plugin_set)0)

/* The number of sets of time-rejected nodes for which results are kept. More
 * are in use at once only when pods of one signature end at very different
 * times.
 */
#define REJECTED_SETS 8u
struct rejected_set_use {
    uint64_t id; /* 0: unused */
    uint64_t used;
};

struct node_finder {
    struct node_finder_settings settings;
    struct result_cache *result_cache;
    struct bounded_search *bounded_search;
    struct kept_refusals *refusals;
    struct rejected_set_use sets[REJECTED_SETS];
    uint64_t n_set_uses;
    struct answer_counts counts; /* of the answers, for kept refusals */
    uint32_t next_start;
    struct answer *answers; /* by slot */
    uint32_t n_answers;
    struct node_view **feasible;
    int64_t *totals;
    int64_t *scores;
    uint32_t capacity;
    struct diagnosis diagnosis;
    struct node_finder_facts facts;
};

static inline void
node_finder_mark(const struct node_finder *f, enum cycle_step step)
{
    if (f->settings.trace != NULL)
        cycle_trace_mark(f->settings.trace, step);
}

/* Makes room for one answer for each slot. Clear: also marks all nodes as not
 * evaluated.
 */
void node_finder_make_room(struct node_finder *f, const struct snapshot *s);
void node_finder_clear_answers(struct node_finder *f, const struct snapshot *s);

/* Collects the plugins that rejected nodes, from the diagnosis's answers. */
void node_finder_note_rejectors(struct node_finder *f, const struct snapshot *s);

/* For the first `count` feasible nodes. */

/* Adds the scores of those plugins to the totals. */
void node_finder_add_scores(struct node_finder *f, const struct profile *profile,
                            plugin_set plugins, struct cycle *c, unsigned count);

/* Returns a random one of the best. */
struct node_view *node_finder_pick_best(struct node_finder *f, unsigned count);

/* Plugins that look at other pods (others_choice.c). */

/* Returns the plugins that depend on other nodes' pods and do not skip this pod. */
plugin_set node_finder_find_others(const struct profile *profile, struct cycle *c);

/* Returns the node, or NULL and the diagnosis. */
struct node_view *node_finder_choose_with_others(struct node_finder *f,
                                                 const struct profile *profile, struct cycle *c,
                                                 const struct node_results *node_results);

/* Plugins that depend on time (timed_choice.c). */

/* Whether a plugin that depends on time filters this pod. */
bool node_finder_goes_by_time(const struct profile *profile, const struct cycle *c);

struct timed_nodes {
    struct rejected_nodes rejected;
    bool must_ask; /* filter the nodes of Reservations one by one */
};

/* Finds the nodes that such plugins reject as a set, and the signature under which results
 * without these nodes are kept.
 */
uint32_t node_finder_find_rejected(struct node_finder *f, const struct profile *profile,
                                   const struct cycle *c, uint32_t signature,
                                   struct timed_nodes *ret_timed);

/* Whether such plugins accept a node that has room now. */
bool node_finder_is_in_time(const struct profile *profile, const struct cycle *c,
                            const struct node_view *node);

/* Returns one of the nodes with room now that such plugins accept; NULL: none, see the
 * diagnosis.
 */
struct node_view *node_finder_pick_timed(struct node_finder *f, const struct profile *profile,
                                         const struct cycle *c, const struct timed_nodes *timed,
                                         struct node_results *node_results);

/* Whether such plugins reject all nodes with room; if so, the answers and counts are
 * updated.
 */
bool node_finder_are_reserved(struct node_finder *f, const struct profile *profile,
                              const struct cycle *c, const struct refusal_answers *r);
