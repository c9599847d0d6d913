/* SPDX-License-Identifier: Apache-2.0 */
/* feed.h - the changes of a kind as one selection sees them
 *
 * A feed is a watch before it becomes bytes or messages: first the state, where
 * that was asked for, then each change as it is published. An object that
 * enters the selection is added, one that leaves it is deleted.
 *
 * Called by:  watch (HTTP) and local_client.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct feed;
struct object;
struct request;

/* Borrowed while the call lasts. A deletion shows the last state with the
 * revision of the deletion; all feeds are given the same objects.
 */
struct feed_event {
    enum client_event_type type; /* added, modified or deleted */
    const struct object *object; /* NULL: the state has been told (bookmark) */
    bool is_initial;             /* of the state, not a change */
};
typedef void feed_fn(const struct feed_event *event, void *context);

/* Life. Open: the request's route and options say what is selected, and from
 * which revision; it must outlive the feed. The state and the changes that the
 * log has come a little at a time when they are many, and then an event without
 * an object, which may be before this returns; `ret_revision` is the state's.
 * -ESTALE: the log does not reach back that far. Close may be called from
 * inside an event.
 */
void feed_close(struct feed *feed);
int feed_open(struct request *q,
              feed_fn *fn,
              void *context,
              int64_t *ret_revision,
              struct feed **ret_feed);

/* "ADDED" */
const char *feed_type_name(enum client_event_type type);
