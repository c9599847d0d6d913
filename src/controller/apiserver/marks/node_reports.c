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
end_wait(struct node_reports *r, bool may_issue)
{
    struct waiting_submission *waiting = r->waiting;
    size_t n = r->n_waiting;

    r->are_awaited = false;
    if (may_issue)
        scheduling_pause_hold(r->server, false);
    timer_stop(r->timer);
    timer_stop(r->expiry);
    r->waiting = NULL;
    r->n_waiting = r->capacity = 0;
    for (size_t i = 0; i < n; i++)
        waiting[i].next(may_issue, waiting[i].context);
    free(waiting);
}

/* Those whose time is over are told why they wait, and come again. */
static void
on_expiry(void *arg)
{
    struct node_reports *r = arg;
    const int64_t now_ms = loop_now_ms();
    int64_t next_ms = INT64_MAX;
    size_t kept = 0;

    for (size_t i = 0; i < r->n_waiting; i++) {
        const struct waiting_submission one = r->waiting[i];

        if (one.until_ms <= now_ms) {
            one.next(false, one.context);
            continue;
        }
        r->waiting[kept++] = one;
        if (one.until_ms < next_ms)
            next_ms = one.until_ms;
    }
    r->n_waiting = kept;
    if (next_ms < INT64_MAX)
        timer_start(r->expiry, next_ms - now_ms);
}

static void
on_time_out(void *arg)
{
    struct node_reports *r = arg;

    log_info("%zu of the nodes that were ready have not reported what they know of this "
             "cluster; new job ids are issued and jobs start all the same",
             map_count(r->missing));
    end_wait(r, true);
}

/* An agent of an ordinary user decides nothing for others by its report, or by
 * its silence. The user that runs the controller, and administrators by name, are the
 * site.
 */
static bool
is_of_site(const struct node_reports *r, const struct object *node)
{
    uid_t uid;

    return !node_find_owner(node_of(node), &uid) || uid == 0 || uid == geteuid()
           || policy_people_has(&r->server->policy->administrators, uid, NULL, 0);
}

/* Only an agent that has enrolled has a secret here; a Node that something else
 * has created reports nothing.
 */
static bool
expect_node(const struct object *object, void *context)
{
    struct node_reports *r = context;
    struct arena *arena = arena_new(0);

    if (node_is_ready(node_of(object)) && is_of_site(r, object)
        && store_find_secret(r->server->store, node_secret_name(arena, object->meta->name)) != NULL)
        map_put(r->missing, object->meta->name, &present);
    arena_free(arena);
    return true;
}

struct node_reports *
node_reports_new(struct apiserver *server, int64_t wait_ms)
{
    struct node_reports *r = xnew(struct node_reports);

    r->server = server;
    r->missing = map_new();
    r->timer = timer_new(server->loop, on_time_out, r);
    r->expiry = timer_new(server->loop, on_expiry, r);
    if (wait_ms > 0)
        (void)store_list(server->store, &node_kind, NULL, NULL, 0, expect_node, r);
    r->are_awaited = map_count(r->missing) > 0;
    r->until_ms = loop_now_ms() + wait_ms;
    if (r->are_awaited) {
        timer_start(r->timer, wait_ms);
        scheduling_pause_hold(server, true);
    }
    return r;
}

void
node_reports_stop(struct node_reports *r)
{
    end_wait(r, false);
}

void
node_reports_free(struct node_reports *r)
{
    if (r == NULL)
        return;
    timer_free(r->timer);
    timer_free(r->expiry);
    map_free(r->missing);
    free(r->waiting);
    free(r);
}

void
node_reports_note(struct node_reports *r, const char *node, enum node_report report, bool is_whole)
{
    int64_t left_ms = r->until_ms - loop_now_ms();
    const struct object *object;

    if (!r->are_awaited)
        return;
    object = store_find(r->server->store, STORE_PENDING, &node_kind, NULL, node);
    if (object == NULL || !is_of_site(r, object))
        return;
    if (report == NODE_REPORT_OTHER)
        r->has_other = true;
    if (!is_whole) {
        if (r->has_other)
            timer_start(r->timer, left_ms > 0 ? left_ms : 0);
        return;
    }
    map_remove(r->missing, node);
    if (map_count(r->missing) == 0
        || (report == NODE_REPORT_LAST_RUN && !r->has_other && store_was_closed(r->server->store)))
        end_wait(r, true);
    else if (r->has_other)
        timer_start(r->timer, left_ms > 0 ? left_ms : 0);
    else if (report == NODE_REPORT_LAST_RUN && !r->is_short) {
        r->is_short = true;
        timer_start(r->timer, left_ms < OTHERS_MS ? left_ms : OTHERS_MS);
    }
}

void
node_reports_wait(struct node_reports *r, int64_t most_s, node_reports_next_fn *next, void *context)
{
    int64_t until_ms = INT64_MAX;

    if (!r->are_awaited || r->n_waiting >= WAITING_MOST) {
        next(!r->are_awaited, context);
        return;
    }
    xgrow(r->waiting, r->n_waiting, r->capacity);
    if (most_s > 0) {
        until_ms = loop_now_ms() + most_s * 1000;
        if (!timer_is_running(r->expiry))
            timer_start(r->expiry, most_s * 1000);
    }
    r->waiting[r->n_waiting++] = (struct waiting_submission){next, context, until_ms};
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
node_reports_are_awaited(const struct node_reports *r)
{
    return r->are_awaited;
}
