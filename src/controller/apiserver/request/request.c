/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/request.h"

#include <string.h>

#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"

void
request_free(struct request *q)
{
    struct arena *arena;

    if (q == NULL)
        return;
    arena = q->arena;
    reply_fini(&q->reply);
    map_free(q->gone_jobs);
    free(q);
    arena_free(arena);
}

struct request *
request_new(struct apiserver *server, struct arena *arena TAKES)
{
    struct request *q = xnew(struct request);

    q->server = server;
    q->arena = arena;
    q->mark = arena_mark(arena);
    reply_init(&q->reply, arena);
    return q;
}

enum route_result
request_find_route(struct request *q, enum http_method method, const char *path, bool wants_watch)
{
    struct route *route = &q->route;
    const enum route_result result = route_find(q->arena, method, path, wants_watch, route);

    if (result == ROUTE_FOUND && !q->server->profile->has_additions
        && (route->kind->flags & KIND_KILN || subresource_is_kiln(route->kind, route->subresource)))
        return ROUTE_NO_PATH;
    return result;
}

const struct json *
request_old_tree(struct request *q, const struct object *old_object)
{
    if (q->old_tree == NULL)
        q->old_tree = object_tree(old_object, q->arena);
    return q->old_tree;
}

/* Frees the memory of the request: body, trees and texts of options. The reply
 * must not refer to any of it. While the request waits for the disk, the next
 * request uses the memory.
 */
static void
forget(struct request *q)
{
    arena_rewind(q->arena, &q->mark);
    q->text = NULL;
    q->length = 0;
    q->body = NULL;
    q->old_tree = NULL;
    q->quota_changes = NULL;
    memset(&q->notes, 0, sizeof(q->notes));
    memset(&q->options, 0, sizeof(q->options));
    memset(q->contents, 0, sizeof(q->contents));
}

void
request_finish(struct request *q)
{
    q->done(q);
}

static void
finish_now(int outcome, void *context)
{
    struct request *q = context;

    if (outcome < 0)
        reply_not_stored(&q->reply, outcome);
    request_finish(q);
}

void
request_finish_durably(struct request *q)
{
    store_when_durable(q->server->store, finish_now, q);
}

/* A reply of one object refers to nothing in the arena. */
static bool
is_object_alone(const struct reply *r)
{
    return r->form == REPLY_OBJECT && r->n_warnings == 0 && r->n_headers == 0;
}

void
request_commit(struct request *q, struct store_txn *txn TAKES)
{
    if (is_object_alone(&q->reply))
        forget(q);
    store_commit(txn, finish_now, q);
}

void
request_commit_success(struct request *q, struct store_txn *txn TAKES, int code)
{
    forget(q);
    reply_success(&q->reply, code);
    store_commit(txn, finish_now, q);
}

void
request_rollback(struct request *q, struct store_txn *txn TAKES)
{
    store_rollback(txn);
    request_finish_durably(q);
}
