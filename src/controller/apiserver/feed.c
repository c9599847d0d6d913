/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/feed.h"

#include <inttypes.h>
#include <stdio.h>

#include "controller/apiserver/hub.h"
#include "controller/apiserver/request.h"
#include "controller/apiserver/selection.h"
#include "controller/apiserver/server.h"
#include "controller/store/store.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

struct feed {
    struct request *q;
    feed_fn *fn;
    void *context;
    struct store_watch *watch;
    int64_t after; /* changes up to this one are not told */
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

static bool
tell_state(const struct object *object, void *context)
{
    struct feed *feed = context;
    struct feed_event event = {
        .type = CLIENT_ADDED,
        .object = object,
        .is_initial = true,
    };

    feed->fn(&event, feed->context);
    return true;
}

static void
changed(const struct store_change *change, void *context)
{
    struct feed *feed = context;
    const struct object *was = change->old_object;
    const struct object *is = change->new_object;
    bool did, does;
    struct feed_event event = {0};

    if (change->revision <= feed->after)
        return;
    did = was != NULL && selection_has(feed->q, was);
    does = is != NULL && selection_has(feed->q, is);
    if (!did && !does)
        return;
    event.type = !did ? CLIENT_ADDED : does ? CLIENT_MODIFIED : CLIENT_DELETED;
    event.object = does ? is : hub_last_state(feed->q->server->hub, change);
    feed->fn(&event, feed->context);
}

int
feed_open(struct request *q,
          feed_fn *fn,
          void *context,
          int64_t *ret_revision,
          struct feed **ret_feed)
{
    struct store *store = q->server->store;
    struct feed *feed = xnew(struct feed);
    int64_t since = q->options.resource_version;
    const char *value = NULL;
    int index = selection_find_index(q, &value);
    int r;

    feed->q = q;
    feed->fn = fn;
    feed->context = context;
    if (since <= 0 || q->options.wants_initial_events) {
        since = store_revision(store);
        selection_visit(q, NULL, 0, tell_state, feed);
    }
    /* One that is yet to come is waited for. */
    feed->after = since;
    if (since > store_revision(store))
        since = store_revision(store);
    r = store_watch(store,
                    kind_stored(q->route.kind),
                    since,
                    index,
                    value,
                    changed,
                    feed,
                    &feed->watch);
    if (r < 0) {
        free(feed);
        return r;
    }
    *ret_revision = since;
    *ret_feed = feed;
    return 0;
}

void
feed_close(struct feed *feed)
{
    if (feed == NULL)
        return;
    store_unwatch(feed->watch);
    free(feed);
}
