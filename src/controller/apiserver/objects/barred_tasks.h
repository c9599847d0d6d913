/* SPDX-License-Identifier: Apache-2.0 */
/* barred_tasks.h - whether a task of an array is held or cancelled
 *
 * Each binding asks this, so the lists of the arrays that were asked for last stay parsed
 * until the array changes.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct barred_tasks;
struct object;

void barred_tasks_free(struct barred_tasks *b);
struct barred_tasks *barred_tasks_new(void) OWNED_BY(barred_tasks_free);

/* "held", "cancelled", or NULL: the task may start. The Job must be an array. */
const char *barred_tasks_find(struct barred_tasks *b, const struct object *job, int64_t task);
