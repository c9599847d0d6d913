/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/report/shared_text.h"
#include "controller/scheduler/report/status_call.h"
#include "lib/api/cluster/event.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/client/event_call.h"

#define WRITES_PER_SECOND 500
#define MAX_IN_FLIGHT     128
#define TIME_MOVES_US     INT64_C(60000000)

/* Events that are said once and may be lost: no more than this wait. */
#define MAX_ONCE 20000

/* One failing pod: its latest reason, and what was written of it. */
struct story {
    struct list link; /* to be written; unlinked: nothing is */
    char *key;        /* "namespace/name" */
    struct pod_view *pod;
    const char *reason; /* of the shared text, as the message */
    const char *message;
    char *nominated;        /* NULL: not to be changed */
    struct pod_cause cause; /* texts of the shared text; NULL code: none yet */
    bool has_new_condition;
    bool has_new_cause;
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
    struct shared_text *shared_text; /* what the stories say */
    struct list dirty;
    struct list remarks;
    size_t n_dirty, n_remarks;
    struct list writes;
    unsigned in_flight;
    int64_t budget; /* writes, in millionths */
    int64_t budget_at_us;
    uint64_t n_said;
    struct random_source random;
};

/* A write that waits its turn or is under way: of a story, by its key, for it
 * may go; or of a remark, which it owns.
 */
struct write {
    struct list link;
    struct recorder *recorder;
    struct dispatch *call;
    char *story_key; /* or NULL */
    struct remark *remark;
    bool is_event;
};

struct recorder *
recorder_new(const struct recorder_settings *settings)
{
    struct recorder *r = xnew(struct recorder);

    r->settings = *settings;
    if (r->settings.writes_per_second == 0)
        r->settings.writes_per_second = WRITES_PER_SECOND;
    r->stories = map_new();
    r->shared_text = shared_text_new();
    list_init(&r->dirty);
    list_init(&r->remarks);
    list_init(&r->writes);
    r->budget_at_us = clock_monotonic_us(settings->clock);
    r->budget = (int64_t)r->settings.writes_per_second * 1000000;
    random_bytes(&r->random.state, sizeof(r->random.state));
    return r;
}

static void
story_free(struct recorder *r, struct story *s)
{
    list_remove(&s->link);
    pod_view_unref(s->pod);
    free(s->key);
    shared_text_drop(r->shared_text, s->reason);
    shared_text_drop(r->shared_text, s->message);
    shared_text_drop(r->shared_text, s->cause.code);
    shared_text_drop(r->shared_text, s->cause.message);
    shared_text_drop(r->shared_text, s->cause.node);
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
write_free(struct write *w)
{
    list_remove(&w->link);
    w->recorder->in_flight--;
    if (w->remark != NULL)
        remark_free(w->remark);
    free(w->story_key);
    free(w);
}

void
recorder_free(struct recorder *r)
{
    size_t at = 0;
    void *value;

    if (r == NULL)
        return;
    while (map_next(r->stories, &at, NULL, &value))
        story_free(r, value);
    list_foreach_safe(link, &r->remarks)
        remark_free(container_of(link, struct remark, link));
    list_foreach_safe(link, &r->writes)
    {
        struct write *w = container_of(link, struct write, link);

        dispatch_cancel(w->call);
        write_free(w);
    }
    map_free(r->stories);
    shared_text_free(r->shared_text);
    free(r);
}

static void
set_text(char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
}

static void
say(struct recorder *r, const char **text, const char *value)
{
    const char *old = *text;

    *text = shared_text_take(r->shared_text, value);
    shared_text_drop(r->shared_text, old);
}

static struct pod_view *
ref(const struct pod_view *pod)
{
    return pod_view_ref((struct pod_view *)(uintptr_t)pod);
}

/* NULL: nothing was said of this very pod. */
static struct story *
find_story(const struct recorder *r, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct story *s;

    snprintf(key, sizeof(key), "%s/%s", pod->namespace, pod->name);
    s = map_find(r->stories, key);
    return s != NULL && pod_view_is_same(s->pod, pod) ? s : NULL;
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
    say(r, &s->reason, reason);
    say(r, &s->message, message);
    s->has_new_condition = true;
    mark_dirty(r, s);
}

/* A minute, or an eighth of the wait: who waits for hours reads hours. */
static bool
is_other_time(const struct recorder *r, int64_t old_us, int64_t new_us)
{
    int64_t now_us = clock_real_us(r->settings.clock);
    int64_t least_us = (old_us - now_us) / 8;

    if ((old_us > now_us) != (new_us > now_us))
        return true;
    if (least_us < TIME_MOVES_US)
        least_us = TIME_MOVES_US;
    return llabs(new_us - old_us) > least_us;
}

static bool
is_other_plan(const struct recorder *r,
              const struct pod_cause *was,
              const struct pod_cause *now)
{
    if (was->is_assumed != now->is_assumed
        || (was->node == NULL) != (now->node == NULL)
        || (was->node != NULL && strcmp(was->node, now->node) != 0))
        return true;
    return is_other_time(r, was->from_us, now->from_us);
}

static void
set_plan(struct recorder *r, struct story *s, const struct pod_cause *now)
{
    const char *old = s->cause.node;

    s->cause.node =
        now->node != NULL ? shared_text_take(r->shared_text, now->node) : NULL;
    shared_text_drop(r->shared_text, old);
    s->cause.from_us = now->from_us;
    s->cause.is_assumed = now->is_assumed;
    s->has_new_cause = true;
    mark_dirty(r, s);
}

void
recorder_set_cause(struct recorder *r,
                   const struct pod_view *pod,
                   const struct pod_cause *cause)
{
    struct story *s = story_of(r, pod);
    bool is_same = s->cause.code != NULL
                   && strcmp(s->cause.code, cause->code) == 0
                   && strcmp(s->cause.message, cause->message) == 0;
    struct pod_cause now = *cause;

    if (now.from_us == CAUSE_FROM_SAME) {
        now.from_us = is_same ? s->cause.from_us : 0;
        now.is_assumed = is_same && s->cause.is_assumed;
    }
    if (is_same && !is_other_plan(r, &s->cause, &now))
        return;
    if (!is_same) {
        say(r, &s->cause.code, cause->code);
        say(r, &s->cause.message, cause->message);
    }
    set_plan(r, s, &now);
}

void
recorder_set_plan(struct recorder *r,
                  const struct pod_view *pod,
                  int64_t from_us,
                  const char *node_name)
{
    struct story *s = find_story(r, pod);
    struct pod_cause now;

    if (s == NULL || s->cause.code == NULL)
        return;
    now = s->cause;
    now.node = node_name;
    if (from_us != CAUSE_FROM_SAME) {
        now.from_us = from_us;
        now.is_assumed = false;
    }
    if (is_other_plan(r, &s->cause, &now))
        set_plan(r, s, &now);
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
recorder_condition(struct recorder *r,
                   const struct pod_view *pod,
                   const char *reason,
                   const char *message)
{
    set_condition(r, story_of(r, pod), reason, message);
}

const char *
recorder_message(const struct recorder *r, const struct pod_view *pod)
{
    const struct story *s = find_story(r, pod);

    return s != NULL ? s->message : NULL;
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
    story_free(r, s);
}

/* Writing */

/* A pod or event that is not there any more is no reason to try again. */
static void
write_failed(struct write *w, int code)
{
    struct story *s = map_find(w->recorder->stories, w->story_key);

    if (s == NULL)
        return;
    if (w->is_event && code == 404) {
        free(s->event_name);
        s->event_name = NULL;
    }
    if (code >= 400 && code < 500 && code != 429)
        return;
    if (w->is_event)
        s->has_new_event = true;
    else {
        s->has_new_condition = s->message != NULL;
        s->has_new_cause = s->cause.code != NULL;
    }
    mark_dirty(w->recorder, s);
}

static void
write_done(const struct client_reply *reply, void *context)
{
    struct write *w = context;

    if (w->story_key != NULL && (reply->code < 200 || reply->code > 299))
        write_failed(w, reply->code);
    write_free(w);
}

static void
write_dropped(void *context)
{
    write_free(context);
}

static bool
has_new_status(const struct story *s)
{
    return s->has_new_condition || s->has_new_cause || s->nominated != NULL;
}

/* A write says what is known when its turn comes, not when it was queued. */

static struct client_call *
start_status(struct client *client,
             client_done_fn *done,
             void *done_context,
             void *context)
{
    struct write *w = context;
    const struct status_call_target to = {
        client,
        done,
        done_context,
        clock_real_us(w->recorder->settings.clock),
    };
    struct story *s = map_find(w->recorder->stories, w->story_key);
    struct client_call *call;

    if (s == NULL || !has_new_status(s))
        return NULL;
    call = status_call_patch(
        &to,
        s->pod,
        &(struct status_call_words){
            .reason = s->reason,
            .message = s->has_new_condition ? s->message : NULL,
            .nominated = s->nominated,
            .cause = s->has_new_cause ? &s->cause : NULL,
        });
    s->has_new_condition = s->has_new_cause = false;
    free(s->nominated);
    s->nominated = NULL;
    return call;
}

static struct event
event_about(const struct recorder *r, const struct pod_view *pod)
{
    return (struct event){
        .involved =
            {
                .api_version = pod_kind.api_version,
                .kind = pod_kind.name,
                .namespace = pod->namespace,
                .name = pod->name,
                .uid = pod->uid,
                .resource_version = pod->pod->meta.resource_version,
            },
        .component = r->settings.component,
        .last_at_us = clock_real_us(r->settings.clock),
    };
}

static struct client_call *
start_failure(struct recorder *r,
              const struct event_call_target *to,
              struct story *s)
{
    struct event event = event_about(r, s->pod);
    bool is_new = s->event_name == NULL;

    if (is_new)
        s->event_name = event_call_make_name(&r->random, s->pod->name);
    s->has_new_event = false;
    event.meta.name = s->event_name;
    event.type = "Warning";
    event.reason = "FailedScheduling";
    event.message = s->message;
    event.count = s->count;
    event.first_at_us = s->first_us;
    return is_new ? event_call_create(to, &event)
                  : event_call_update(to, &event);
}

static struct client_call *
start_remark(struct recorder *r,
             const struct event_call_target *to,
             const struct remark *m)
{
    CLEANUP_FREE char *name = event_call_make_name(&r->random, m->pod->name);
    struct event event = event_about(r, m->pod);

    event.meta.name = name;
    event.type = m->type;
    event.reason = m->reason;
    event.message = m->message;
    event.count = 1;
    event.first_at_us = event.last_at_us;
    return event_call_create(to, &event);
}

static struct client_call *
start_event(struct client *client,
            client_done_fn *done,
            void *done_context,
            void *context)
{
    struct write *w = context;
    struct recorder *r = w->recorder;
    const struct event_call_target to = {client, done, done_context};
    struct story *s;

    if (w->remark != NULL)
        return start_remark(r, &to, w->remark);
    s = map_find(r->stories, w->story_key);
    return s != NULL && s->has_new_event ? start_failure(r, &to, s) : NULL;
}

const struct dispatch_kind recorder_status_kind = {
    .name = "pod_status_patch",
    .relevance = 1,
    .start = start_status,
    .done = write_done,
    .dropped = write_dropped,
};

const struct dispatch_kind recorder_event_kind = {
    .name = "event",
    .relevance = 0,
    .start = start_event,
    .done = write_done,
    .dropped = write_dropped,
};

/* The write may be gone when this returns. */
static void
submit(struct recorder *r,
       const char *key,
       const struct dispatch_kind *kind,
       const char *story_key,
       struct remark *remark TAKES)
{
    struct write *w = xnew(struct write);
    struct dispatch *call;

    w->recorder = r;
    w->is_event = kind == &recorder_event_kind;
    w->story_key = story_key != NULL ? xstrdup(story_key) : NULL;
    w->remark = remark;
    list_add_last(&r->writes, &w->link);
    r->in_flight++;
    r->budget -= 1000000;
    call = dispatcher_add(r->settings.dispatcher, key, kind, w);
    if (call != NULL)
        w->call = call;
}

static void
write_story(struct recorder *r, struct story *s)
{
    CLEANUP_FREE char *key = xstrdup(s->key);
    CLEANUP_FREE char *event_key = xasprintf("event %s", s->key);
    bool has_event = s->has_new_event;

    mark_clean(r, s);
    if (has_new_status(s))
        submit(r, key, &recorder_status_kind, key, NULL);
    if (has_event)
        submit(r, event_key, &recorder_event_kind, key, NULL);
}

static void
write_remark(struct recorder *r, struct remark *m)
{
    CLEANUP_FREE char *key =
        xasprintf("event %llu", (unsigned long long)r->n_said++);

    list_remove(&m->link);
    r->n_remarks--;
    submit(r, key, &recorder_event_kind, NULL, m);
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
