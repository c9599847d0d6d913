/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

void
history_queue_fini(struct history_queue *q)
{
    for (size_t i = 0; i < q->count; i++) {
        object_unref(q->items[i].pod);
        object_unref(q->items[i].job);
        free(q->items[i].text);
        free(q->items[i].deleted_by);
    }
    free(q->items);
    *q = (struct history_queue){0};
}

void
history_queue_add(struct history_queue *q, const struct history_end *like, const char *text,
                  const char *deleted_by, const char *key)
{
    struct history_end *end;

    if (q->count == q->capacity) {
        q->capacity = q->capacity > 0 ? q->capacity * 2 : 64;
        q->items = xrealloc_array(q->items, q->capacity, sizeof(q->items[0]));
    }
    end = &q->items[q->count++];
    *end = (struct history_end){
        .pod = like->pod != NULL ? object_ref(like->pod) : NULL,
        .job = like->job != NULL ? object_ref(like->job) : NULL,
        .text = text != NULL ? xstrdup(text) : NULL,
        .deleted_by = deleted_by != NULL ? xstrdup(deleted_by) : NULL,
        .at_us = like->at_us,
    };
    (void)snprintf(end->key, sizeof(end->key), "%s", key);
}
