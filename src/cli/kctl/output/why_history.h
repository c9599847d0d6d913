/* SPDX-License-Identifier: Apache-2.0 */
/* why_history.h - how the attempts of a job or a task have ended, for kctl why
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct kctl;

enum why_history {
    WHY_HISTORY_GONE,    /* the job does not exist any more */
    WHY_HISTORY_TASK,    /* a task whose array exists */
    WHY_HISTORY_EARLIER, /* attempts of a task that will run again */
};

/* Prints the attempts. False: history has none. */
bool why_history_print(struct kctl *kctl, const char *id, enum why_history how,
                       struct arena *arena);
