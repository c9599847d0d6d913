/* SPDX-License-Identifier: Apache-2.0 */
/* task_sets.h - unions, intersections and differences of lists of tasks
 *
 * By ranges, never by ids: what they cost depends on how many ranges there
 * are, and at most on TASK_LIST_RANGES_MOST. A result that would need more
 * ranges is refused with -EINVAL and words.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include "lib/api/value/task_list.h"

/* The result is in the arena, and may borrow from neither list. */
int task_sets_unite(struct arena *arena,
                    const struct task_list *a,
                    const struct task_list *b,
                    struct task_list *ret_list,
                    struct error *err);
int task_sets_intersect(struct arena *arena,
                        const struct task_list *a,
                        const struct task_list *b,
                        struct task_list *ret_list,
                        struct error *err);
/* The ids of `a` that are not in `b`. */
int task_sets_subtract(struct arena *arena,
                       const struct task_list *a,
                       const struct task_list *b,
                       struct task_list *ret_list,
                       struct error *err);
