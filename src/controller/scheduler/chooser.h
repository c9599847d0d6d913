/* SPDX-License-Identifier: Apache-2.0 */
/* chooser.h - the node for a pod: filter, score, and one of the best
 *
 * Pods that can share results go by a board (board.h), or as long as there is
 * none for their like by a shortlist (shortlist.h); the others have every
 * node looked at, or a sample in turn when the profile says so. Nothing in the
 * cluster changes here.
 *
 * Owns:    the boards, the shortlist, and what the last choice left behind.
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

struct counsel;
struct chooser;
struct cycle;
struct handle;
struct names;
struct node_view;
struct profile;
struct steps;

struct chooser_settings {
    struct handle *handle;
    struct names *signatures;
    struct steps *steps;      /* where the time goes; or NULL */
    bool is_sharing;          /* keep boards */
    size_t board_bytes;       /* of all boards together; 0: 64 MiB */
    uint32_t shortlist_nodes; /* a shortlist from so many nodes on; 0: 256 */
};

void chooser_free(struct chooser *ch);
struct chooser *chooser_new(const struct chooser_settings *settings)
    OWNED_BY(chooser_free);
DEFINE_CLEANUP(struct chooser, chooser_free)

/* The node, or NULL with the diagnosis. Both are good until the next choice
 * or change of the cache. Counsel: what extenders say, of a pod that has some
 * (others: NULL); NULL is then also returned when they must first be asked
 * about the nodes of the facts.
 */
struct node_view *chooser_choose(struct chooser *ch,
                                 const struct profile *profile,
                                 struct cycle *c,
                                 const struct counsel *counsel);
const struct diagnosis *chooser_diagnosis(const struct chooser *ch);

/* Of the last choice: how many nodes were filtered, how many passed (a
 * shortlist looks at few of them), whether a board was used; and without one, which passed and their totals (none are
 * made for a single node).
 */
struct chooser_facts {
    unsigned evaluated;
    unsigned feasible;
    bool by_board;
    bool by_shortlist;
    bool must_ask; /* extenders about those that passed */
    int64_t total;
    struct node_view *const *nodes;
    const int64_t *totals;
    unsigned n_totals;
};
struct chooser_facts chooser_facts(const struct chooser *ch);

/* Where the next sampled search begins. */
uint32_t chooser_next_start(const struct chooser *ch);
void chooser_set_next_start(struct chooser *ch, uint32_t start);

/* How many feasible nodes end a search; percentage 0: adaptive. */
uint32_t feasible_wanted(unsigned percentage, uint32_t n_nodes);
