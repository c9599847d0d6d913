/* SPDX-License-Identifier: Apache-2.0 */
/* task_sets.h - unions, intersections and differences of task lists
 *
 * The functions work on ranges, never on single ids: their cost depends on the
 * number of ranges, of which there are at most TASK_LIST_RANGES_MOST per list.
 * A result that would need more ranges is refused with -EINVAL and the reason.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include "lib/api/value/task_list.h"

/* The result is in the arena and borrows from neither list. */
int task_sets_unite(struct arena *arena, const struct task_list *a, const struct task_list *b,
                    struct task_list *ret_list, struct error *err);
int task_sets_intersect(struct arena *arena, const struct task_list *a, const struct task_list *b,
                        struct task_list *ret_list, struct error *err);
/* The ids of `a` that are not in `b`. */
int task_sets_subtract(struct arena *arena, const struct task_list *a, const struct task_list *b,
                       struct task_list *ret_list, struct error *err);
