/* SPDX-License-Identifier: Apache-2.0 */
/* job_tasks.h - the current state of tasks of an array: state, node, times,
 * exit code, with or without a pod
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;
struct json;
struct kctl;

/* Whether the operands of a verb are tasks: "1042_7", "job 1042_[3-9]",
 * "job/1042_7". Either all operands are, or the result is false.
 */
bool job_tasks_are_meant(int n_operands, char *const *operands);

/* The tasks of one operand ("1042_7", "1042_1,1043_[2-5]"), an array in the arena, as returned by
 * jobs/NAME/elements. -ENOENT: the array or one of the tasks does not exist.
 */
int job_tasks_fetch(struct kctl *kctl, const char *operand, struct arena *arena,
                    struct json **ret_items, struct error *err);

/* Whether the operand is only the type ("job"). */
bool job_tasks_is_type(const char *operand);
