/* SPDX-License-Identifier: Apache-2.0 */
/* The initial state and the changes must fit together without a gap: the objects are collected
 * and the watch is opened at one revision, in one turn of the loop, and changes are kept
 * behind the state until that has been sent, in slices. From then on an event is sent in the
 * turn in which it is published. A revision that this store has not reached is of another
 * store, a copy that was replaced, so the client has to list again.
 */
#include "controller/apiserver/watch/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/apiserver/objects/selection.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/time_slice.h"
#include "controller/apiserver/watch/shared_change.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* More events than this are sent a few at a time. */
#define AT_ONCE 200
#define PER_GO  16

/* An event that was not sent yet: an object of the initial state, or a change.
 */
struct unsent_event {
    bool is_initial;
    struct store_change change;
};

struct feed {
    struct time_slice time_slice;
    struct request *q;
    feed_fn *fn;
    void *context;
    struct store_watch *watch;
    int64_t after; /* changes up to this revision are skipped */
    struct unsent_event *unsent;
    size_t first, count, capacity; /* of `unsent` */
    bool is_behind;                /* new changes are added to `unsent` */
    bool is_added;                 /* to the time slices */
    bool is_telling;
    bool is_closed;
};

const char *
feed_type_name(enum client_event_type type)
{
    switch (type) {
    case CLIENT_ADDED:
        return "ADDED";
    case CLIENT_MODIFIED:
        return "MODIFIED";
    case CLIENT_DELETED:
        return "DELETED";
    case CLIENT_BOOKMARK:
        return "BOOKMARK";
    default:
        return "ERROR";
    }
}

static void
send_state(struct feed *feed, const struct object *object)
{
    struct feed_event event = {
        .type = CLIENT_ADDED,
        .object = object,
        .is_initial = true,
    };

    if (selection_has(feed->q, object))
        feed->fn(&event, feed->context);
}

static void
send_change(struct feed *feed, const struct store_change *change)
{
    const struct object *was = change->old_object;
    const struct object *is = change->new_object;
    bool did = was != NULL && selection_has(feed->q, was);
    bool does = is != NULL && selection_has(feed->q, is);
    struct feed_event event = {0};

    if (!did && !does)
        return;
    event.type = !did ? CLIENT_ADDED : does ? CLIENT_MODIFIED : CLIENT_DELETED;
    event.object = does ? is : shared_change_last_state(feed->q->server->shared_change, change);
    feed->fn(&event, feed->context);
}

/* --- events that wait ---------------------------------------------------- */

static void
keep(struct feed *feed, bool is_initial, const struct store_change *change)
{
    struct unsent_event *u;

    xgrow(feed->unsent, feed->count, feed->capacity);
    u = &feed->unsent[feed->count++];
    u->is_initial = is_initial;
    u->change = *change;
    if (change->old_object != NULL)
        object_ref(change->old_object);
    if (change->new_object != NULL)
        object_ref(change->new_object);
}

static void
release_change(struct unsent_event *u)
{
    object_unref(u->change.old_object);
    object_unref(u->change.new_object);
}

static bool
keep_state(const struct object *object, void *context)
{
    struct store_change change = {.new_object = object};

    keep(context, true, &change);
    return true;
}

static void
changed(const struct store_change *change, void *context)
{
    struct feed *feed = context;

    if (change->revision <= feed->after)
        return;
    if (feed->is_behind)
        keep(feed, false, change);
    else
        send_change(feed, change);
}

static void
feed_free(struct feed *feed)
{
    for (; feed->first < feed->count; feed->first++)
        release_change(&feed->unsent[feed->first]);
    free(feed->unsent);
    free(feed);
}

/* Returns true when there are more. */
static bool
send_some(struct feed *feed, size_t most)
{
    struct feed_event told = {.type = CLIENT_BOOKMARK};
    bool is_closed;

    feed->is_telling = true;
    for (; most > 0 && feed->first < feed->count && !feed->is_closed; most--) {
        struct unsent_event u = feed->unsent[feed->first++];

        if (u.is_initial)
            send_state(feed, u.change.new_object);
        else
            send_change(feed, &u.change);
        release_change(&u);
    }
    if (!feed->is_closed && feed->first == feed->count) {
        feed->is_behind = false;
        free(feed->unsent);
        feed->unsent = NULL;
        feed->first = feed->count = feed->capacity = 0;
        feed->fn(&told, feed->context);
    }
    feed->is_telling = false;
    is_closed = feed->is_closed;
    if (is_closed)
        feed_free(feed);
    return !is_closed && feed->is_behind;
}

static bool
run_slice(struct time_slice *time_slice)
{
    struct feed *feed = container_of(time_slice, struct feed, time_slice);
    bool more;

    feed->is_added = false;
    more = send_some(feed, PER_GO);
    if (more)
        feed->is_added = true;
    return more;
}

int
feed_open(struct request *q, feed_fn *fn, void *context, int64_t *ret_revision,
          struct feed **ret_feed)
{
    struct store *store = q->server->store;
    struct feed *feed = xnew(struct feed);
    int64_t since = q->options.resource_version;
    const char *value = NULL;
    int index = selection_find_index(q, &value);
    int r;

    /* Only another store can have issued it: a copy of this one that was
     * replaced. The client must list again.
     */
    if (since > store_revision(store) && q->server->profile->refuses_later_revisions) {
        free(feed);
        return -ESTALE;
    }
    feed->q = q;
    feed->fn = fn;
    feed->context = context;
    feed->is_behind = true;
    if (since <= 0 || q->options.wants_initial_events) {
        since = store_revision(store);
        selection_visit_candidates(q, keep_state, feed);
    }
    /* Upstream waits for a revision of the future: `after` skips earlier changes.
     */
    feed->after = since;
    if (since > store_revision(store))
        since = store_revision(store);
    r = store_watch(store, kind_stored(q->route.kind), since, index, value, changed, feed,
                    &feed->watch);
    if (r < 0) {
        feed_free(feed);
        return r;
    }
    *ret_revision = since;
    *ret_feed = feed;
    if (feed->count > AT_ONCE) {
        feed->is_added = true;
        time_slices_add(q->server->time_slices, &feed->time_slice, run_slice);
    } else
        send_some(feed, SIZE_MAX);
    return 0;
}

void
feed_close(struct feed *feed)
{
    if (feed == NULL)
        return;
    store_unwatch(feed->watch);
    if (feed->is_added)
        time_slices_remove(feed->q->server->time_slices, &feed->time_slice);
    if (feed->is_telling)
        feed->is_closed = true;
    else
        feed_free(feed);
}
