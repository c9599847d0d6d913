/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/output/log_requests.h"

#include <stdbool.h>
#include <string.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/output/log_stream.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pods.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_client.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/loop/timer.h"

#define AGAIN_MS     2000
#define LOOK_MS      500 /* interval of checks whether followed pods are over */
#define LINE_MAX_LEN (64u << 10)

#define STREAMS_MOST     128u
#define STREAMS_OF_OWNER 32u

/* A log stream and its pod. */
struct served_stream {
    struct list link;
    struct log_requests *requests;
    struct log_stream *stream;
    char *id;
    char *namespace;
    char *pod;
    char *owner; /* whose output it is: a uid or a name */
    bool follows;
    bool is_stopped; /* only the end of its child is missing */
};

struct log_requests {
    const struct agent_context *agent;
    struct http_client *http;
    const struct pods *pods;
    char *program;
    char *target;
    struct http_call *call;
    struct timer *again;
    struct timer *check_streams;
    struct strbuf cgroup; /* of the children; empty: none */
    struct strbuf line;   /* the part of the next line that has come */
    struct map *servings; /* by id, except the stopped ones */
    struct list streams;  /* all */
};

static void
free_served_stream(struct served_stream *s)
{
    list_remove(&s->link);
    log_stream_free(s->stream);
    free(s->id);
    free(s->namespace);
    free(s->owner);
    free(s->pod);
    free(s);
}

static void
stop_stream(struct log_requests *r, const char *id)
{
    struct served_stream *s = map_remove(r->servings, id);

    if (s == NULL)
        return;
    s->is_stopped = true;
    log_stream_stop(s->stream);
}

static void
on_over(UNUSED struct log_stream *stream, void *context)
{
    struct served_stream *s = context;

    if (!s->is_stopped)
        map_remove(s->requests->servings, s->id);
    free_served_stream(s);
}

/* ---- Requests ---- */

/* When the container began by the pod's status; 0: not yet. */
static int64_t
find_start(const struct object *pod, struct arena *arena)
{
    static const char *const states[] = {"state.running.startedAt", "state.terminated.startedAt"};
    const struct json *container =
        json_at(json_get_path(object_tree(pod, arena), "status.containerStatuses"), 0);
    int64_t at_us = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
        const char *text = json_path_text(container, states[i]);

        if (text != NULL && time_parse(text, &at_us) == 0)
            break;
    }
    return at_us;
}

/* The time from which lines are wanted; 0: all. */
static int64_t
find_since(const struct log_requests *r, const struct json *request_json)
{
    const char *text = json_get_text(request_json, "sinceTime");
    int64_t seconds = json_get_int(request_json, "sinceSeconds", 0);
    int64_t now_us = clock_real_us(r->agent->clock);
    int64_t at_us = 0;

    if (text != NULL && time_parse(text, &at_us) == 0)
        return at_us;
    if (seconds <= 0 || seconds > now_us / 1000000)
        return 0;
    return now_us - seconds * 1000000;
}

/* For a pod that is gone, the request has its uid, and a name that no pod can
 * have, so that agents of the previous release find no pod and report that.
 */
static bool
is_gone(const struct json *request_json)
{
    return json_is_true(json_get(request_json, "gone"))
           && json_get_text(request_json, "uid") != NULL;
}

/* The pod that is meant. A request for the standard error names it in a member
 * of its own, so that agents of the previous release find no pod.
 */
static const char *
pod_name_of(const struct json *request_json)
{
    const char *of_error = json_get_text(request_json, "errorOf");

    return of_error != NULL ? of_error : json_get_text(request_json, "pod");
}

static void
find_output(struct log_requests *r, struct arena *arena, const struct json *request_json,
            struct log_stream_wish *request)
{
    const struct object *pod =
        pods_find(r->pods, json_get_text(request_json, "namespace"), pod_name_of(request_json));
    const struct security_context *who;

    if (is_gone(request_json)) {
        request->gone = json_get_text(request_json, "uid");
        request->state_dir = r->agent->state_dir;
        request->follow = false;
        return;
    }
    request->status = 404;
    request->refusal = "the pod is no longer on this node";
    if (pod == NULL)
        return;
    request->status = 403;
    request->refusal = "the pod's user may not run anything on this node";
    if (pod_order_check_user(r->agent, pod, NULL) < 0)
        return;
    request->status = 404;
    who = pod_of(pod)->spec.security_context;
    request->uid = (uid_t)*who->run_as_user;
    request->gid = (gid_t)(who->run_as_group ? *who->run_as_group : *who->run_as_user);
    request->path = json_get_text(request_json, "errorOf") != NULL
                        ? pod_order_error_path(r->agent, pod, arena)
                        : pod_order_output_path(r->agent, pod, arena);
    if (request->path == NULL)
        request->refusal = "the pod writes its standard error into its output";
    request->state_dir = arena_printf(arena, "%s/pods/%s", r->agent->state_dir, pod->meta->uid);
    request->started_us = find_start(pod, arena);
}

/* The owner of the output, as far as the agent knows. Only the record of a pod that
 * is gone has its uid, so the controller says the user's name.
 */
static char *
dup_owner(const struct log_stream_wish *request, const struct json *request_json)
{
    const char *user = json_get_text(request_json, "user");

    if (request->gone == NULL)
        return xasprintf("%u", request->uid);
    return xstrdup(user != NULL ? user : "-");
}

/* Counts the readers, also those whose child was killed and does not end: the
 * owner decides how long that takes.
 */
static void
limit(const struct log_requests *r, const struct served_stream *s, struct log_stream_wish *request)
{
    unsigned all = 0, owners = 0;

    list_foreach(at, &r->streams)
    {
        all++;
        owners += strcmp(container_of(at, struct served_stream, link)->owner, s->owner) == 0;
    }
    if (all < STREAMS_MOST && owners < STREAMS_OF_OWNER)
        return;
    request->path = request->gone = NULL;
    request->status = 429;
    request->refusal = owners >= STREAMS_OF_OWNER
                           ? "too many readers read outputs of this user's jobs on that node, or "
                             "cannot be ended; try again"
                           : "too many readers read outputs on that node, or cannot be ended; try "
                             "again";
}

static void
serve(struct log_requests *r, const struct json *request_json)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct served_stream *s = xnew(struct served_stream);
    struct log_stream_wish request = {
        .id = json_get_text(request_json, "id"),
        .follow = json_is_true(json_get(request_json, "follow")),
        .tail = json_get_int(request_json, "tailLines", -1),
        .limit = json_get_int(request_json, "limitBytes", -1),
        .timestamps = json_is_true(json_get(request_json, "timestamps")),
        .since_us = find_since(r, request_json),
    };
    struct log_stream_settings settings = {
        .loop = r->agent->loop,
        .http = r->http,
        .node = r->agent->node,
        .program = r->program,
        .cgroup = r->cgroup.text,
        .over = on_over,
        .context = s,
    };

    find_output(r, arena, request_json, &request);
    s->requests = r;
    s->id = xstrdup(request.id);
    s->namespace = xstrdup(json_get_text(request_json, "namespace"));
    s->pod = xstrdup(pod_name_of(request_json));
    s->owner = dup_owner(&request, request_json);
    limit(r, s, &request);
    s->follows = request.follow;
    list_add_last(&r->streams, &s->link);
    map_put(r->servings, s->id, s);
    s->stream = log_stream_new(&settings, &request);
    if (s->follows && !timer_is_running(r->check_streams))
        timer_start(r->check_streams, 0);
}

static bool
is_whole(const struct json *request_json)
{
    return json_get_text(request_json, "id") != NULL
           && json_get_text(request_json, "namespace") != NULL
           && json_get_text(request_json, "pod") != NULL;
}

static void
take_line(struct log_requests *r, const char *text, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    const struct json *request_json = json_parse(arena, text, length, NULL, &err);
    const char *type = json_get_text(request_json, "type");
    const char *id = json_get_text(request_json, "id");

    if (type != NULL && id != NULL && strcmp(type, "stop") == 0)
        stop_stream(r, id);
    else if (type != NULL && strcmp(type, "log") == 0 && is_whole(request_json)) {
        if (map_find(r->servings, id) == NULL)
            serve(r, request_json);
    } else
        log_warning("ignoring a request of the controller that this agent "
                    "does not support: %.*s",
                    (int)(length < 200 ? length : 200), text);
}

static void
on_data(const void *bytes, size_t length, void *arg)
{
    struct log_requests *r = arg;
    const char *at = bytes;
    const char *end = at + length;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        strbuf_add(&r->line, at, (size_t)((newline ? newline : end) - at));
        if (r->line.length > LINE_MAX_LEN)
            strbuf_truncate(&r->line, 0);
        if (newline == NULL)
            return;
        if (r->line.length > 0)
            take_line(r, r->line.text, r->line.length);
        strbuf_truncate(&r->line, 0);
        at = newline + 1;
    }
}

static void
on_done(const struct http_response *answer, const struct error *err, void *arg)
{
    struct log_requests *r = arg;

    r->call = NULL;
    strbuf_truncate(&r->line, 0);
    log_debug("the stream of requests ended: %s", answer == NULL ? err->text : "closed");
    timer_start(r->again, AGAIN_MS);
}

static void
open_stream(void *context)
{
    struct log_requests *r = context;
    struct http_client_request question = {
        .method = HTTP_GET,
        .target = r->target,
        .data = on_data,
        .done = on_done,
        .arg = r,
    };

    r->call = http_client_call(r->http, &question);
}

/* Followers of a pod that is over get the rest of the output, and then the
 * stream ends.
 */
static void
check_streams(void *context)
{
    struct log_requests *r = context;
    bool follows = false;
    size_t at = 0;
    void *value;

    while (map_next(r->servings, &at, NULL, &value)) {
        struct served_stream *s = value;
        const struct object *pod;

        if (!s->follows)
            continue;
        follows = true;
        pod = pods_find(r->pods, s->namespace, s->pod);
        if (pod == NULL || pod_is_finished(pod_of(pod)))
            log_stream_finish(s->stream);
    }
    if (follows)
        timer_start(r->check_streams, LOOK_MS);
}

struct log_requests *
log_requests_new(const struct agent_context *agent, struct http_client *http,
                 const struct pods *pods, const char *program)
{
    struct log_requests *r = xnew(struct log_requests);

    r->agent = agent;
    r->http = http;
    r->pods = pods;
    r->program = xstrdup(program);
    r->target = xasprintf("/api/v1/nodes/%s/requests", agent->node);
    strbuf_init(&r->line);
    strbuf_init(&r->cgroup);
    if (agent->cgroups != NULL)
        cgroup_format(cgroot_readers(agent->cgroups), &r->cgroup);
    r->servings = map_new();
    list_init(&r->streams);
    r->again = timer_new(agent->loop, open_stream, r);
    r->check_streams = timer_new(agent->loop, check_streams, r);
    open_stream(r);
    return r;
}

void
log_requests_free(struct log_requests *r)
{
    if (r == NULL)
        return;
    if (r->call != NULL)
        http_call_cancel(r->call);
    list_foreach_safe(at, &r->streams)
        free_served_stream(container_of(at, struct served_stream, link));
    map_free(r->servings);
    timer_free(r->again);
    timer_free(r->check_streams);
    strbuf_fini(&r->line);
    strbuf_fini(&r->cgroup);
    free(r->program);
    free(r->target);
    free(r);
}
