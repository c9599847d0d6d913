/* SPDX-License-Identifier: Apache-2.0 */
/* task_table.h - tasks of an array, a line each
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct error;
struct kctl;

/* Of operands that are tasks (job_tasks.h). Form: of -o, NULL, json or yaml;
 * -EINVAL with words for another.
 */
int task_table_show(struct kctl *kctl,
                    int n_operands,
                    char **operands,
                    const char *form,
                    bool with_headings,
                    struct error *err);
