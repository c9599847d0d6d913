/* SPDX-License-Identifier: Apache-2.0 */
/* job_tasks.h - tasks of an array as they stand: state, node, times, exit code,
 * whether they have a pod or not
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;
struct kctl;
struct target_object;

/* Whether the operands of a verb are tasks: "1042_7", "job 1042_[3-9]",
 * "job/1042_7"; the job is left out of them. All are, or none.
 */
bool job_tasks_are_meant(int n_operands, char *const *operands);

/* The tasks of one operand, an array in the arena, as jobs/NAME/elements has
 * them. -ENOENT: the array, or one of the tasks, is not there.
 */
int job_tasks_fetch(struct kctl *kctl,
                    const char *operand,
                    struct arena *arena,
                    struct json **ret_items,
                    struct error *err);

/* An operand that is the type alone ("job"). */
bool job_tasks_is_type(const char *operand);
