/* SPDX-License-Identifier: Apache-2.0 */
/* feed.h - the changes of a kind, as seen through one selection
 *
 * A feed is the part of a watch before rendering: first the state, if it was
 * asked for, then each change when it is published. An object that enters the
 * selection is added, one that leaves it is deleted.
 *
 * Called by:  watch (HTTP) and local_watch.
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

/* Borrowed during the call. A deletion has the object's last state, with the
 * revision of the deletion; all feeds get the same objects.
 */
struct feed_event {
    enum client_event_type type; /* added, modified, deleted or bookmark */
    const struct object *object; /* NULL: the initial state is complete
                                  * (bookmark)
                                  */
    bool is_initial;             /* of the state, not a change */
};
typedef void feed_fn(const struct feed_event *event, void *context);

/* Life. The request's route and options give the selection and the first
 * revision; the request must outlive the feed. When there are many, the state
 * and the changes from the log are sent a little at a time. After them comes an
 * event without an object, perhaps before feed_open returns. `ret_revision` is
 * the state's. Returns -ESTALE when the log does not reach back that far.
 * feed_close may be called during an event.
 */
void feed_close(struct feed *feed);
int feed_open(struct request *q, feed_fn *fn, void *context, int64_t *ret_revision,
              struct feed **ret_feed);

/* Returns "ADDED" and so on. */
const char *feed_type_name(enum client_event_type type);
