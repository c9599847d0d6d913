/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/recorder.h"

#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define WRITES_PER_SECOND 500
#define MAX_IN_FLIGHT     128

/* Events that are said once and may be lost: no more than this wait. */
#define MAX_ONCE 20000

/* What is known and said of one pod that fails. */
struct story {
    struct list link; /* to be written; unlinked: nothing is */
    char *key;        /* "namespace/name" */
    struct pod_view *pod;
    char *reason;
    char *message;
    char *nominated; /* NULL: not to be changed */
    bool has_new_condition;
    bool has_new_event;
    char *event_name; /* NULL: no event was made yet */
    int64_t count;    /* how often it failed */
    int64_t first_us;
};

/* An event that is said once. */
struct remark {
    struct list link;
    struct pod_view *pod;
    char *type;
    char *reason;
    char *message;
};

struct recorder {
    struct recorder_settings settings;
    struct map *stories;
    struct list dirty;
    struct list remarks;
    size_t n_dirty, n_remarks;
    struct list calls;
    unsigned in_flight;
    int64_t budget; /* writes, in millionths */
    int64_t budget_at_us;
    struct random_source random;
};

/* A write under way. Of a story: what to say again when it fails. */
struct write_call {
    struct list link;
    struct recorder *recorder;
    struct client_call *call;
    char *story_key; /* or NULL */
    bool has_event;
};

struct recorder *
recorder_new(const struct recorder_settings *settings)
{
    struct recorder *r = xnew(struct recorder);

    r->settings = *settings;
    if (r->settings.writes_per_second == 0)
        r->settings.writes_per_second = WRITES_PER_SECOND;
    r->stories = map_new();
    list_init(&r->dirty);
    list_init(&r->remarks);
    list_init(&r->calls);
    r->budget_at_us = clock_monotonic_us(settings->clock);
    r->budget = (int64_t)r->settings.writes_per_second * 1000000;
    random_bytes(&r->random.state, sizeof(r->random.state));
    return r;
}

static void
story_free(struct story *s)
{
    list_remove(&s->link);
    pod_view_unref(s->pod);
    free(s->key);
    free(s->reason);
    free(s->message);
    free(s->nominated);
    free(s->event_name);
    free(s);
}

static void
remark_free(struct remark *m)
{
    list_remove(&m->link);
    pod_view_unref(m->pod);
    free(m->type);
    free(m->reason);
    free(m->message);
    free(m);
}

static void
call_free(struct write_call *c)
{
    list_remove(&c->link);
    c->recorder->in_flight--;
    free(c->story_key);
    free(c);
}

void
recorder_free(struct recorder *r)
{
    size_t at = 0;
    void *value;

    if (r == NULL)
        return;
    while (map_next(r->stories, &at, NULL, &value))
        story_free(value);
    list_foreach_safe(link, &r->remarks)
        remark_free(container_of(link, struct remark, link));
    list_foreach_safe(link, &r->calls)
    {
        struct write_call *c = container_of(link, struct write_call, link);

        client_cancel(c->call);
        call_free(c);
    }
    map_free(r->stories);
    free(r);
}

static void
set_text(char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
}

static struct pod_view *
ref(const struct pod_view *pod)
{
    return pod_view_ref((struct pod_view *)(uintptr_t)pod);
}

/* The story of this very pod, not of another of its name. */
static struct story *
story_of(struct recorder *r, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct story *s;

    snprintf(key, sizeof(key), "%s/%s", pod->namespace, pod->name);
    s = map_find(r->stories, key);
    if (s != NULL && !pod_view_is_same(s->pod, pod)) {
        recorder_forget(r, s->pod);
        s = NULL;
    }
    if (s == NULL) {
        s = xnew(struct story);
        list_init(&s->link);
        s->key = xstrdup(key);
        s->pod = ref(pod);
        s->first_us = clock_real_us(r->settings.clock);
        map_put(r->stories, key, s);
    }
    if (s->pod != pod) {
        pod_view_unref(s->pod);
        s->pod = ref(pod);
    }
    return s;
}

static void
mark_dirty(struct recorder *r, struct story *s)
{
    if (!list_is_empty(&s->link))
        return;
    list_add_last(&r->dirty, &s->link);
    r->n_dirty++;
}

static void
mark_clean(struct recorder *r, struct story *s)
{
    if (list_is_empty(&s->link))
        return;
    list_remove(&s->link);
    r->n_dirty--;
}

static void
set_condition(struct recorder *r,
              struct story *s,
              const char *reason,
              const char *message)
{
    if (s->reason != NULL && strcmp(s->reason, reason) == 0
        && strcmp(s->message, message) == 0)
        return;
    set_text(&s->reason, reason);
    set_text(&s->message, message);
    s->has_new_condition = true;
    mark_dirty(r, s);
}

void
recorder_failed(struct recorder *r,
                const struct pod_view *pod,
                const char *reason,
                const char *message)
{
    struct story *s = story_of(r, pod);

    s->count++;
    /* Counting alone is told now and then: at 1, 2, 4, 8, ... */
    if (s->message == NULL || strcmp(s->message, message) != 0
        || (s->count & (s->count - 1)) == 0) {
        s->has_new_event = true;
        mark_dirty(r, s);
    }
    set_condition(r, s, reason, message);
}

void
recorder_gated(struct recorder *r,
               const struct pod_view *pod,
               const char *message)
{
    set_condition(r, story_of(r, pod), "SchedulingGated", message);
}

void
recorder_nominate(struct recorder *r,
                  const struct pod_view *pod,
                  const char *node_name)
{
    struct story *s = story_of(r, pod);

    set_text(&s->nominated, node_name);
    mark_dirty(r, s);
}

void
recorder_event(struct recorder *r,
               const struct pod_view *pod,
               const char *type,
               const char *reason,
               const char *message)
{
    struct remark *m;

    if (r->n_remarks >= MAX_ONCE)
        return;
    m = xnew(struct remark);
    m->pod = ref(pod);
    m->type = xstrdup(type);
    m->reason = xstrdup(reason);
    m->message = xstrdup(message);
    list_add_last(&r->remarks, &m->link);
    r->n_remarks++;
}

void
recorder_forget(struct recorder *r, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct story *s;

    snprintf(key, sizeof(key), "%s/%s", pod->namespace, pod->name);
    s = map_remove(r->stories, key);
    if (s == NULL)
        return;
    mark_clean(r, s);
    story_free(s);
}

/* Writing */

/* A pod or event that is not there any more is no reason to try again. */
static void
write_failed(struct write_call *c, int code)
{
    struct story *s = map_find(c->recorder->stories, c->story_key);

    if (s == NULL)
        return;
    if (c->has_event && code == 404) {
        free(s->event_name);
        s->event_name = NULL;
    }
    if (code >= 400 && code < 500 && code != 429)
        return;
    if (c->has_event)
        s->has_new_event = true;
    else
        s->has_new_condition = s->message != NULL;
    mark_dirty(c->recorder, s);
}

static void
write_done(const struct client_reply *reply, void *context)
{
    struct write_call *c = context;

    if (c->story_key != NULL && (reply->code < 200 || reply->code > 299))
        write_failed(c, reply->code);
    call_free(c);
}

static void
start(struct recorder *r,
      const struct story *story,
      struct arena *arena TAKES,
      const struct client_request *request)
{
    struct write_call *c = xnew(struct write_call);

    c->recorder = r;
    c->has_event = request->kind == &event_kind;
    if (story != NULL)
        c->story_key = xstrdup(story->key);
    list_add_last(&r->calls, &c->link);
    r->in_flight++;
    r->budget -= 1000000;
    c->call = client_call(r->settings.client, arena, request, write_done, c);
}

static const char *
now_text(const struct recorder *r, char out[TIME_TEXT_SIZE])
{
    time_format(clock_real_us(r->settings.clock), false, out);
    return out;
}

static struct json *
involved_object(struct arena *arena, const struct pod_view *pod)
{
    struct json *o = json_object(arena);

    json_set_string(arena, o, "kind", "Pod");
    json_set_string(arena, o, "namespace", pod->namespace);
    json_set_string(arena, o, "name", pod->name);
    if (pod->uid != NULL)
        json_set_string(arena, o, "uid", pod->uid);
    json_set_string(arena, o, "apiVersion", "v1");
    if (pod->pod->meta.resource_version != NULL)
        json_set_string(arena,
                        o,
                        "resourceVersion",
                        pod->pod->meta.resource_version);
    return o;
}

static void
create_event(struct recorder *r,
             const struct story *story,
             const struct pod_view *pod,
             const char *name,
             const char *type,
             const char *reason,
             const char *message,
             int64_t count,
             int64_t first_us)
{
    struct arena *arena = arena_new(2048);
    struct json *body = json_object(arena), *meta, *source;
    char first[TIME_TEXT_SIZE], last[TIME_TEXT_SIZE];

    time_format(first_us, false, first);
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "Event");
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "name", name);
    json_set_string(arena, meta, "namespace", pod->namespace);
    json_set(arena, body, "involvedObject", involved_object(arena, pod));
    json_set_string(arena, body, "reason", reason);
    json_set_string(arena, body, "message", message);
    json_set_string(arena, body, "type", type);
    json_set_string(arena, body, "firstTimestamp", first);
    json_set_string(arena, body, "lastTimestamp", now_text(r, last));
    json_set_int(arena, body, "count", count);
    source = json_make_object(arena, body, "source");
    json_set_string(arena, source, "component", r->settings.component);
    json_set_string(arena, body, "reportingComponent", r->settings.component);
    start(r,
          story,
          arena,
          &(struct client_request){
              .verb = CLIENT_CREATE,
              .kind = &event_kind,
              .namespace = pod->namespace,
              .body = body,
          });
}

static char *
event_name(struct recorder *r, const struct pod_view *pod)
{
    return xasprintf("%.200s.%016llx",
                     pod->name,
                     (unsigned long long)random_next(&r->random));
}

static void
patch_event(struct recorder *r, const struct story *s)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    char last[TIME_TEXT_SIZE];

    json_set_int(arena, body, "count", s->count);
    json_set_string(arena, body, "message", s->message);
    json_set_string(arena, body, "lastTimestamp", now_text(r, last));
    start(r,
          s,
          arena,
          &(struct client_request){
              .verb = CLIENT_MERGE_PATCH,
              .kind = &event_kind,
              .namespace = s->pod->namespace,
              .name = s->event_name,
              .body = body,
          });
}

static void
patch_status(struct recorder *r, const struct story *s)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");
    char now[TIME_TEXT_SIZE];

    if (s->pod->uid != NULL)
        json_set_string(arena,
                        json_make_object(arena, body, "metadata"),
                        "uid",
                        s->pod->uid);
    if (s->has_new_condition) {
        struct json *list = json_array(arena), *c = json_object(arena);

        json_set_string(arena, c, "type", "PodScheduled");
        json_set_string(arena, c, "status", "False");
        json_set_string(arena, c, "reason", s->reason);
        json_set_string(arena, c, "message", s->message);
        json_set(arena, c, "lastProbeTime", json_null(arena));
        json_set_string(arena, c, "lastTransitionTime", now_text(r, now));
        json_append(arena, list, c);
        json_set(arena, status, "conditions", list);
    }
    if (s->nominated != NULL)
        json_set(arena,
                 status,
                 "nominatedNodeName",
                 s->nominated[0] != '\0' ? json_string(arena, s->nominated)
                                         : json_null(arena));
    start(r,
          s,
          arena,
          &(struct client_request){
              .verb = CLIENT_STRATEGIC_PATCH,
              .kind = &pod_kind,
              .namespace = s->pod->namespace,
              .name = s->pod->name,
              .subresource = "status",
              .body = body,
          });
}

static void
write_story(struct recorder *r, struct story *s)
{
    mark_clean(r, s);
    if (s->has_new_condition || s->nominated != NULL)
        patch_status(r, s);
    if (s->has_new_event && s->event_name != NULL) {
        patch_event(r, s);
    } else if (s->has_new_event) {
        s->event_name = event_name(r, s->pod);
        create_event(r,
                     s,
                     s->pod,
                     s->event_name,
                     "Warning",
                     "FailedScheduling",
                     s->message,
                     s->count,
                     s->first_us);
    }
    s->has_new_condition = s->has_new_event = false;
    free(s->nominated);
    s->nominated = NULL;
}

static void
write_remark(struct recorder *r, struct remark *m)
{
    CLEANUP_FREE char *name = event_name(r, m->pod);

    create_event(r,
                 NULL,
                 m->pod,
                 name,
                 m->type,
                 m->reason,
                 m->message,
                 1,
                 clock_real_us(r->settings.clock));
    remark_free(m);
    r->n_remarks--;
}

static bool
may_write(const struct recorder *r)
{
    return r->in_flight < MAX_IN_FLIGHT && r->budget >= 1000000;
}

bool
recorder_flush(struct recorder *r)
{
    int64_t now_us = clock_monotonic_us(r->settings.clock);
    int64_t most = (int64_t)r->settings.writes_per_second * 1000000;

    r->budget += (now_us - r->budget_at_us) * r->settings.writes_per_second;
    if (r->budget > most)
        r->budget = most;
    r->budget_at_us = now_us;
    while (may_write(r) && !list_is_empty(&r->dirty))
        write_story(r, container_of(r->dirty.next, struct story, link));
    while (may_write(r) && !list_is_empty(&r->remarks))
        write_remark(r, container_of(r->remarks.next, struct remark, link));
    return r->n_dirty + r->n_remarks > 0;
}

size_t
recorder_pending(const struct recorder *r)
{
    return r->n_dirty + r->n_remarks + r->in_flight;
}
