/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/verbs/verbs.h"

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/exec_grants.h"
#include "controller/apiserver/objects/content.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/apiserver/verbs/agent_relay.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"

static void
get(struct request *q)
{
    const struct route *route = &q->route;
    const struct object *object = store_find(
        q->server->store, STORE_PUBLISHED, kind_stored(route->kind), route->namespace, route->name);

    /* The requested resourceVersion may be older than the newest, but not
     * newer.
     */
    if (q->options.resource_version > store_revision(q->server->store))
        reply_from_future(&q->reply, q->options.resource_version, store_revision(q->server->store));
    else if (object == NULL)
        write_not_found(q);
    else if (authorization_covers(q, object))
        reply_object(&q->reply, 200, object);
    request_finish(q);
}

typedef void verb_fn(struct request *q);

/* Watches, logs and the requests to agents are streams: the HTTP handler serves
 * them.
 */
static verb_fn *const plain[N_VERBS] = {
    [VERB_GET] = get,
    [VERB_LIST] = verb_list,
    [VERB_CREATE] = verb_create,
    [VERB_REPLACE] = verb_replace,
    [VERB_PATCH] = verb_patch,
    [VERB_DELETE] = verb_delete,
    [VERB_DELETE_COLLECTION] = verb_delete_collection,
};

static verb_fn *const of_measured[N_VERBS] = {
    [VERB_GET] = verb_get_usage,
    [VERB_LIST] = verb_list_usage,
};

static verb_fn *const of_status[N_VERBS] = {
    [VERB_GET] = get,
    [VERB_REPLACE] = verb_replace,
    [VERB_PATCH] = verb_patch,
};

/* Jobs are not interactive, so there is no terminal to attach to. */
static void
refuse_exec(struct request *q)
{
    reply_bad_request(&q->reply, "Upgrade request required");
    request_finish(q);
}

static verb_fn *
find_verb(const struct route *route)
{
    switch (route->subresource) {
    case SUBRESOURCE_NONE:
        if (route->kind->flags & KIND_ANSWERED)
            return verb_review;
        if (route->kind->flags & KIND_MEASURED)
            return of_measured[route->verb];
        return plain[route->verb];
    case SUBRESOURCE_STATUS:
        return of_status[route->verb];
    case SUBRESOURCE_EXEC:
        return refuse_exec;
    case SUBRESOURCE_EXEC_GRANT:
        return exec_grants_make;
    case SUBRESOURCE_FINALIZE:
        return verb_replace;
    case SUBRESOURCE_REQUESTS:
        return route->verb == VERB_CREATE ? agent_relay_take_piece : NULL;
    case SUBRESOURCE_BINDING:
        return verb_bind;
    case SUBRESOURCE_EVICTION:
        return verb_evict;
    case SUBRESOURCE_ELEMENTS:
        return route->verb == VERB_CREATE ? verb_settle : verb_get_elements;
    case SUBRESOURCE_GANG:
        return verb_make_gang;
    case SUBRESOURCE_END:
        return verb_get_end;
    case SUBRESOURCE_ENROL:
        return verb_enrol;
    case SUBRESOURCE_APPROVE:
        return verb_approve;
    case SUBRESOURCE_MARK:
        return verb_mark;
    case SUBRESOURCE_RESET:
        return verb_reset;
    case SUBRESOURCE_START:
        return verb_start_gang;
    case SUBRESOURCE_STEPS:
        return verb_report_steps;
    case SUBRESOURCE_USAGE:
        return verb_report_usage;
    case SUBRESOURCE_WHY:
        return verb_get_why;
    case SUBRESOURCE_SCRIPT:
    case SUBRESOURCE_ENVIRONMENT:
        return verb_get_content;
    default:
        return NULL;
    }
}

static void
refuse_verb(struct request *q)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 405,
                              .reason = "MethodNotAllowed",
                              .message = "the server does not allow this method on the "
                                         "requested resource",
                              .empty_details = true,
                          });
}

/* A part of the objects must not look like all of them, and one that is not read yet not
 * like one that does not exist. Upstream answers so while its cache is filled, and kubectl
 * and kctl repeat such a request.
 */
bool
verbs_check_read(struct request *q)
{
    const bool is_from_revision = q->route.verb == VERB_WATCH && q->options.resource_version > 0
                                  && !q->options.wants_initial_events;

    if (q->route.verb == VERB_CREATE || is_from_revision
        || store_has_read(q->server->store, q->route.kind))
        return true;
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 429,
                              .reason = "TooManyRequests",
                              .message = arena_printf(
                                  q->arena,
                                  "this controller has only begun to lead, and still reads the %s "
                                  "of before: ask again",
                                  q->route.kind->plural),
                              .retry_after_s = 1,
                          });
    return false;
}

void
verbs_start(struct request *q, const struct parameter *parameters, size_t n_parameters)
{
    verb_fn *verb = find_verb(&q->route);

    q->mark = arena_mark(q->arena);
    if (verb == NULL)
        refuse_verb(q);
    else if (body_parse(q)
             && options_parse(&q->options, q->arena, &q->route, parameters, n_parameters, q->body,
                              &q->reply)
             && authorization_check(q) && verbs_check_read(q)) {
        verb(q);
        return;
    }
    request_finish(q);
}
