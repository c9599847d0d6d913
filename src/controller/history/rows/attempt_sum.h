/* SPDX-License-Identifier: Apache-2.0 */
/* attempt_sum.h - the row of an attempt of a job of several nodes, from the rows of
 * its pods
 *
 * Amounts and use are sums. How the attempt ended is told by the pod that decided
 * it: pod 0, or one that failed, if the script runs on each node or pod 0 was
 * only ended with it.
 *
 * Thread:  any; pure.
 */
#pragma once

struct arena;
struct history_row;

/* Adds a pod's row to the sum; all of its zero at first. Texts are borrowed, or
 * in the arena. The nodes are a list in no order, until it is finished.
 */
void attempt_sum_add(struct history_row *sum, struct arena *arena, const struct history_row *pod);

/* All pods are there: the row as it is written, with a key of its own. */
void attempt_sum_finish(struct history_row *sum, struct arena *arena);
