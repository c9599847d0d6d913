/* SPDX-License-Identifier: Apache-2.0 */
/* A full cluster says "unschedulable" about each pod again and again, and a write for each
 * attempt would be more work for the API than scheduling. So the last message of a pod waits
 * for its turn, equal ones become a count that is written at 1, 2, 4, 8, and the rate has a
 * bound. Only the number of times that something was said is lost by that.
 *
 * Texts are shared, because thousands of waiting pods have the same.
 */
#include "controller/scheduler/report/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/report/recorder_state.h"
#include "controller/scheduler/report/shared_text.h"
#include "lib/api/object/item_map.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"

#define WRITES_PER_SECOND 500

/* At most this many events that are written once wait; further ones are lost.
 */
#define MAX_ONCE 20000

static const char *
failing_pod_key(const void *failing)
{
    return ((const struct failing_pod *)failing)->key;
}

struct recorder *
recorder_new(const struct recorder_settings *settings)
{
    struct recorder *r = xnew(struct recorder);

    r->settings = *settings;
    if (r->settings.writes_per_second == 0)
        r->settings.writes_per_second = WRITES_PER_SECOND;
    r->failing_pods = item_map_new(failing_pod_key);
    r->shared_text = shared_text_new();
    list_init(&r->dirty);
    list_init(&r->single_events);
    list_init(&r->writes);
    r->budget_at_us = clock_monotonic_us(settings->clock);
    r->budget = (int64_t)r->settings.writes_per_second * 1000000;
    random_bytes(&r->random.state, sizeof(r->random.state));
    return r;
}

static void
failing_pod_free(struct recorder *r, struct failing_pod *s)
{
    list_remove(&s->link);
    s->pod->failing = NULL;
    pod_view_unref(s->pod);
    shared_text_drop(r->shared_text, s->reason);
    shared_text_drop(r->shared_text, s->message);
    shared_text_drop(r->shared_text, s->cause.code);
    shared_text_drop(r->shared_text, s->cause.message);
    shared_text_drop(r->shared_text, s->cause.node);
    free(s->nominated);
    free(s);
}

void
recorder_free_single_event(struct single_event *m)
{
    list_remove(&m->link);
    pod_view_unref(m->pod);
    free(m->type);
    free(m->reason);
    free(m->message);
    free(m);
}

void
recorder_free(struct recorder *r)
{
    size_t at = 0;
    void *value;

    if (r == NULL)
        return;
    while (item_map_next(r->failing_pods, &at, &value))
        failing_pod_free(r, value);
    list_foreach_safe(link, &r->single_events)
        recorder_free_single_event(container_of(link, struct single_event, link));
    recorder_cancel_writes(r);
    item_map_free(r->failing_pods);
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
set_shared_text(struct recorder *r, const char **text, const char *value)
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

/* Finds the record of any failing pod with this name. */
static struct failing_pod *
find_by_name(const struct recorder *r, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];

    if (item_map_count(r->failing_pods) == 0)
        return NULL;
    snprintf(key, sizeof(key), "%s/%s", pod->namespace, pod->name);
    return item_map_find(r->failing_pods, key);
}

/* NULL: there is no record of this pod, though another pod may have had its
 * name.
 */
static struct failing_pod *
find_failing_pod(const struct recorder *r, const struct pod_view *pod)
{
    struct failing_pod *s = pod->failing;

    if (s == NULL) {
        s = find_by_name(r, pod);
        if (s != NULL && !pod_view_is_same(s->pod, pod))
            s = NULL;
    }
    return s;
}

static void
set_view(struct failing_pod *s, const struct pod_view *pod)
{
    if (s->pod != NULL) {
        s->pod->failing = NULL;
        pod_view_unref(s->pod);
    }
    s->pod = ref(pod);
    s->pod->failing = s;
}

static struct failing_pod *
failing_pod_new(const struct pod_view *pod)
{
    const size_t size = strlen(pod->namespace) + 1 + strlen(pod->name) + 1;
    struct failing_pod *s = xcalloc(1, sizeof(*s) + size);

    list_init(&s->link);
    snprintf(s->key, size, "%s/%s", pod->namespace, pod->name);
    return s;
}

/* Returns the record of this pod, and not that of another pod with its name. */
static struct failing_pod *
failing_pod_of(struct recorder *r, const struct pod_view *pod)
{
    struct failing_pod *s = pod->failing;

    if (s != NULL)
        return s;
    s = find_by_name(r, pod);
    if (s != NULL && !pod_view_is_same(s->pod, pod)) {
        recorder_forget(r, s->pod);
        s = NULL;
    }
    if (s == NULL) {
        s = failing_pod_new(pod);
        s->first_us = clock_real_us(r->settings.clock);
        item_map_put(r->failing_pods, s);
    }
    set_view(s, pod);
    return s;
}

void
recorder_mark_dirty(struct recorder *r, struct failing_pod *s)
{
    if (!list_is_empty(&s->link))
        return;
    list_add_last(&r->dirty, &s->link);
    r->n_dirty++;
}

void
recorder_mark_clean(struct recorder *r, struct failing_pod *s)
{
    if (list_is_empty(&s->link))
        return;
    list_remove(&s->link);
    r->n_dirty--;
}

static void
set_condition(struct recorder *r, struct failing_pod *s, const char *reason, const char *message)
{
    if (s->reason != NULL && strcmp(s->reason, reason) == 0 && strcmp(s->message, message) == 0)
        return;
    set_shared_text(r, &s->reason, reason);
    set_shared_text(r, &s->message, message);
    s->has_new_condition = true;
    recorder_mark_dirty(r, s);
}

static bool
is_other_plan(const struct pod_cause *was, const struct pod_cause *now)
{
    return was->is_assumed != now->is_assumed || was->from_us != now->from_us
           || (was->node == NULL) != (now->node == NULL)
           || (was->node != NULL && strcmp(was->node, now->node) != 0);
}

static void
set_plan(struct recorder *r, struct failing_pod *s, const struct pod_cause *now)
{
    const char *old = s->cause.node;

    s->cause.node = now->node != NULL ? shared_text_take(r->shared_text, now->node) : NULL;
    shared_text_drop(r->shared_text, old);
    s->cause.from_us = now->from_us;
    s->cause.is_assumed = now->is_assumed;
    s->has_new_cause = true;
    recorder_mark_dirty(r, s);
}

void
recorder_set_cause(struct recorder *r, const struct pod_view *pod, const struct pod_cause *cause)
{
    struct pod_cause now = *cause;
    struct failing_pod *s;
    bool is_same;

    if (r->settings.is_off)
        return;
    s = failing_pod_of(r, pod);
    is_same = s->cause.code != NULL && strcmp(s->cause.code, cause->code) == 0
              && strcmp(s->cause.message, cause->message) == 0;
    if (now.from_us == CAUSE_FROM_SAME) {
        now.from_us = is_same ? s->cause.from_us : 0;
        now.is_assumed = is_same && s->cause.is_assumed;
    }
    if (is_same && !is_other_plan(&s->cause, &now))
        return;
    if (!is_same) {
        set_shared_text(r, &s->cause.code, cause->code);
        set_shared_text(r, &s->cause.message, cause->message);
    }
    set_plan(r, s, &now);
}

/* Sets the time and the node, if the pod has a cause. */
static void
change_plan(struct recorder *r, struct failing_pod *s, const struct pod_cause *now)
{
    if (is_other_plan(&s->cause, now))
        set_plan(r, s, now);
}

void
recorder_set_plan(struct recorder *r, const struct pod_view *pod, const char *node_name)
{
    struct failing_pod *s = find_failing_pod(r, pod);
    struct pod_cause now;

    if (s == NULL || s->cause.code == NULL)
        return;
    now = s->cause;
    now.node = node_name;
    change_plan(r, s, &now);
}

void
recorder_set_start(struct recorder *r, const struct pod_view *pod, int64_t from_us, bool is_assumed)
{
    struct failing_pod *s = find_failing_pod(r, pod);
    struct pod_cause now;

    if (s == NULL || s->cause.code == NULL)
        return;
    now = s->cause;
    now.from_us = from_us;
    now.is_assumed = is_assumed;
    change_plan(r, s, &now);
}

void
recorder_failed(struct recorder *r, const struct pod_view *pod, const char *reason,
                const char *message)
{
    struct failing_pod *s;

    if (r->settings.is_off)
        return;
    s = failing_pod_of(r, pod);
    s->count++;
    /* If only the count has changed, it is written at 1, 2, 4, 8, ... */
    if (s->message == NULL || strcmp(s->message, message) != 0
        || (s->count & (s->count - 1)) == 0) {
        s->has_new_event = true;
        recorder_mark_dirty(r, s);
    }
    set_condition(r, s, reason, message);
}

void
recorder_condition(struct recorder *r, const struct pod_view *pod, const char *reason,
                   const char *message)
{
    if (!r->settings.is_off)
        set_condition(r, failing_pod_of(r, pod), reason, message);
}

void
recorder_copy(struct recorder *r, const struct pod_view *pod, const struct pod_view *other)
{
    const struct failing_pod *s = find_failing_pod(r, pod);
    struct pod_cause cause;

    if (s == NULL || s->cause.code == NULL || s->reason == NULL)
        return;
    cause = s->cause;
    cause.node = NULL;
    cause.from_us = CAUSE_FROM_SAME;
    recorder_set_cause(r, other, &cause);
    recorder_condition(r, other, s->reason, s->message);
}

const struct pod_cause *
recorder_cause(const struct recorder *r, const struct pod_view *pod)
{
    const struct failing_pod *s = find_failing_pod(r, pod);

    return s != NULL && s->cause.code != NULL ? &s->cause : NULL;
}

const char *
recorder_message(const struct recorder *r, const struct pod_view *pod)
{
    const struct failing_pod *s = find_failing_pod(r, pod);

    return s != NULL ? s->message : NULL;
}

void
recorder_nominate(struct recorder *r, const struct pod_view *pod, const char *node_name)
{
    struct failing_pod *s;

    if (r->settings.is_off)
        return;
    s = failing_pod_of(r, pod);
    set_text(&s->nominated, node_name);
    recorder_mark_dirty(r, s);
}

void
recorder_event(struct recorder *r, const struct pod_view *pod, const char *type, const char *reason,
               const char *message)
{
    struct single_event *m;

    if (r->settings.is_off || r->n_single_events >= MAX_ONCE)
        return;
    m = xnew(struct single_event);
    m->pod = ref(pod);
    m->type = xstrdup(type);
    m->reason = xstrdup(reason);
    m->message = xstrdup(message);
    list_add_last(&r->single_events, &m->link);
    r->n_single_events++;
}

void
recorder_forget(struct recorder *r, const struct pod_view *pod)
{
    struct failing_pod *s = pod->failing != NULL ? pod->failing : find_by_name(r, pod);

    if (s == NULL)
        return;
    item_map_remove(r->failing_pods, s->key);
    recorder_mark_clean(r, s);
    failing_pod_free(r, s);
}
