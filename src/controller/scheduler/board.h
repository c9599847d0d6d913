/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - what every node answers and scores for pods of one signature
 *
 * Equal pods get equal answers from a node that has not changed, so a board
 * keeps them and looks again only at nodes with a newer generation. A
 * tournament over the totals finds the best nodes, all ties known, in the
 * logarithm of the number of nodes. Scores that are normalized by the largest
 * are kept raw; when the largest changes all totals are made again.
 *
 * Plugins whose answers depend on other nodes' pods (depends_on_others) take
 * no part: where they have something to say, they are asked of the nodes that
 * are feasible here, and the totals are made of both.
 *
 * Owns:       its arrays; the views are the cache's.
 * Thread:     the scheduler's.
 * Invariant:  after board_update, the same as evaluating every node anew
 *             (tested).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct answer;
struct board;
struct cycle;
struct node_view;
struct profile;
struct random_source;
struct snapshot;

void board_free(struct board *b);
struct board *board_new(const struct profile *profile) OWNED_BY(board_free);
DEFINE_CLEANUP(struct board, board_free)

/* Brings it up to date with the cycle's snapshot. False: these scores cannot
 * be kept on a board (too many different ones), evaluate without.
 */
bool board_update(struct board *b, const struct cycle *c);

/* Look. Pick: one of the best at random, NULL when none is feasible. Answers:
 * by slot, of every node of the snapshot.
 */
unsigned board_feasible(const struct board *b);
struct node_view *board_pick(const struct board *b,
                             struct random_source *random,
                             int64_t *ret_total);
const struct answer *board_answers(const struct board *b);

/* The totals that these feasible nodes have among themselves. */
void board_totals(const struct board *b,
                  const struct node_view *const *nodes,
                  unsigned count,
                  int64_t *totals);
int64_t board_total(const struct board *b, const struct node_view *node);
size_t board_bytes(const struct board *b);

/* How many nodes the last update looked at; and how many one would now, of
 * which `most` is enough.
 */
unsigned board_evaluated(const struct board *b);
unsigned
board_behind(const struct board *b, const struct snapshot *s, unsigned most);
