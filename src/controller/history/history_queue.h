/* SPDX-License-Identifier: Apache-2.0 */
/* history_queue.h - ends whose rows are to be written, on the way from the loop
 * to the writer
 *
 * Owns:    references to the objects.
 * Thread:  one at a time: the loop fills it, and hands it over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct object;

/* A pod with its Job (or NULL), a Job alone, or the text of a row that was kept
 * in the store.
 */
struct history_end {
    const struct object *pod;
    const struct object *job;
    char *text;
    char *deleted_by; /* who deleted the Job, if that is gone; or NULL */
    char key[64];     /* uid that identifies the row */
    int64_t at_us;
};

struct history_queue {
    struct history_end *items;
    size_t count, capacity;
};

void history_queue_fini(struct history_queue *queue);

/* Takes references and copies the texts, which may be NULL. */
void history_queue_add(struct history_queue *queue, const struct history_end *end, const char *text,
                       const char *deleted_by, const char *key);
