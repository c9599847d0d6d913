/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/marks/node_reports.h"

#include <stdlib.h>
#include <unistd.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/objects/node_record.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

/* How long the other nodes are waited for when the first one knows nothing that
 * the store lacks. An agent notices the loss of its connection at once.
 */
#define OTHERS_MS 3000

#define WAITING_MOST 10000

struct waiting_submission {
    node_reports_next_fn *next;
    void *context;
    int64_t until_ms; /* of loop_now_ms; INT64_MAX: no limit */
};

struct node_reports {
    struct apiserver *server;
    struct map *missing; /* nodes by name; values are not NULL */
    struct timer *timer;
    struct timer *expiry; /* of the first that waits no longer */
    struct waiting_submission *waiting;
    size_t n_waiting, capacity;
    int64_t until_ms; /* of loop_now_ms */
    bool are_awaited;
    bool is_short;  /* a node knows nothing that the store lacks */
    bool has_other; /* a node knows what the store lacks */
};

static char present;

static void
end_wait(struct node_reports *w, bool may_issue)
{
    struct waiting_submission *waiting = w->waiting;
    size_t n = w->n_waiting;

    w->are_awaited = false;
    if (may_issue)
        scheduling_pause_hold(w->server, false);
    timer_stop(w->timer);
    timer_stop(w->expiry);
    w->waiting = NULL;
    w->n_waiting = w->capacity = 0;
    for (size_t i = 0; i < n; i++)
        waiting[i].next(may_issue, waiting[i].context);
    free(waiting);
}

/* Those whose time is over are told why they wait, and come again. */
static void
on_expiry(void *arg)
{
    struct node_reports *w = arg;
    const int64_t now_ms = loop_now_ms();
    int64_t next_ms = INT64_MAX;
    size_t kept = 0;

    for (size_t i = 0; i < w->n_waiting; i++) {
        const struct waiting_submission one = w->waiting[i];

        if (one.until_ms <= now_ms) {
            one.next(false, one.context);
            continue;
        }
        w->waiting[kept++] = one;
        if (one.until_ms < next_ms)
            next_ms = one.until_ms;
    }
    w->n_waiting = kept;
    if (next_ms < INT64_MAX)
        timer_start(w->expiry, next_ms - now_ms);
}

static void
on_time_out(void *arg)
{
    struct node_reports *w = arg;

    log_info("%zu of the nodes that were ready have not reported what they know of this "
             "cluster; new job ids are issued and jobs start all the same",
             map_count(w->missing));
    end_wait(w, true);
}

/* An agent of an ordinary user decides nothing for others by its report, or by
 * its silence. The user that runs the controller, and administrators by name, are the
 * site.
 */
static bool
is_of_site(const struct node_reports *w, const struct object *node)
{
    uid_t uid;

    return !node_find_owner(node_of(node), &uid) || uid == 0 || uid == geteuid()
           || policy_people_has(&w->server->policy->administrators, uid, NULL, 0);
}

/* Only an agent that has enrolled has a secret here; a Node that something else
 * has created reports nothing.
 */
static bool
expect_node(const struct object *object, void *context)
{
    struct node_reports *w = context;
    struct arena *arena = arena_new(0);

    if (node_is_ready(node_of(object)) && is_of_site(w, object)
        && store_find_secret(w->server->store, node_secret_name(arena, object->meta->name)) != NULL)
        map_put(w->missing, object->meta->name, &present);
    arena_free(arena);
    return true;
}

struct node_reports *
node_reports_new(struct apiserver *server, int64_t wait_ms)
{
    struct node_reports *w = xnew(struct node_reports);

    w->server = server;
    w->missing = map_new();
    w->timer = timer_new(server->loop, on_time_out, w);
    w->expiry = timer_new(server->loop, on_expiry, w);
    if (wait_ms > 0)
        (void)store_list(server->store, &node_kind, NULL, NULL, 0, expect_node, w);
    w->are_awaited = map_count(w->missing) > 0;
    w->until_ms = loop_now_ms() + wait_ms;
    if (w->are_awaited) {
        timer_start(w->timer, wait_ms);
        scheduling_pause_hold(server, true);
    }
    return w;
}

void
node_reports_stop(struct node_reports *w)
{
    end_wait(w, false);
}

void
node_reports_free(struct node_reports *w)
{
    if (w == NULL)
        return;
    timer_free(w->timer);
    timer_free(w->expiry);
    map_free(w->missing);
    free(w->waiting);
    free(w);
}

void
node_reports_note(struct node_reports *w, const char *node, enum node_report report, bool is_whole)
{
    int64_t left_ms = w->until_ms - loop_now_ms();
    const struct object *object;

    if (!w->are_awaited)
        return;
    object = store_find(w->server->store, STORE_PENDING, &node_kind, NULL, node);
    if (object == NULL || !is_of_site(w, object))
        return;
    if (report == NODE_REPORT_OTHER)
        w->has_other = true;
    if (!is_whole) {
        if (w->has_other)
            timer_start(w->timer, left_ms > 0 ? left_ms : 0);
        return;
    }
    map_remove(w->missing, node);
    if (map_count(w->missing) == 0
        || (report == NODE_REPORT_LAST_RUN && !w->has_other && store_was_closed(w->server->store)))
        end_wait(w, true);
    else if (w->has_other)
        timer_start(w->timer, left_ms > 0 ? left_ms : 0);
    else if (report == NODE_REPORT_LAST_RUN && !w->is_short) {
        w->is_short = true;
        timer_start(w->timer, left_ms < OTHERS_MS ? left_ms : OTHERS_MS);
    }
}

void
node_reports_wait(struct node_reports *w, int64_t most_s, node_reports_next_fn *next, void *context)
{
    int64_t until_ms = INT64_MAX;

    if (!w->are_awaited || w->n_waiting >= WAITING_MOST) {
        next(!w->are_awaited, context);
        return;
    }
    xgrow(w->waiting, w->n_waiting, w->capacity);
    if (most_s > 0) {
        until_ms = loop_now_ms() + most_s * 1000;
        if (!timer_is_running(w->expiry))
            timer_start(w->expiry, most_s * 1000);
    }
    w->waiting[w->n_waiting++] = (struct waiting_submission){next, context, until_ms};
}

void
node_reports_refuse(struct request *q)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 503,
                              .reason = "ServiceUnavailable",
                              .message = "the controller has just started, and issues no job ids "
                                         "until its nodes have reported what they know of this "
                                         "cluster",
                              .retry_after_s = 1,
                          });
}

bool
node_reports_are_awaited(const struct node_reports *w)
{
    return w->are_awaited;
}
