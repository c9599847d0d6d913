/* SPDX-License-Identifier: Apache-2.0 */
/* task_table.h - a table of tasks of an array
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct error;
struct kctl;

/* Shows the tasks of operands (job_tasks.h). Form: the value of -o: NULL, json
 * or yaml; -EINVAL with a text for another.
 */
int task_table_show(struct kctl *kctl, int n_operands, char **operands, const char *form,
                    bool with_headings, struct error *err);
