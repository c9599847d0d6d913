/* SPDX-License-Identifier: Apache-2.0 */
/* The victim keeps its room until the API reports that it is gone: it may take its whole grace
 * period, and its cores are in use until then. The reason is written before the deletion,
 * since a pod that is gone can no longer say why. For whom the room is made is counted here,
 * so that preemption knows of deletions that are still under way for a pod.
 */
#include "controller/scheduler/bind/evictions.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/pod_removal.h"

struct eviction {
    struct evictions *owner;
    char *key;
    struct pod_view *victim;
    struct pod_view *preemptor;
    struct pod_removal *removal;
    int64_t began_us;
};

struct evictions {
    struct evictions_settings settings;
    struct map *under_way;  /* by the victim's key */
    struct map *preemptors; /* by key: number of evictions for it */
};

struct evictions *
evictions_new(const struct evictions_settings *settings)
{
    struct evictions *e = xnew(struct evictions);

    e->settings = *settings;
    e->under_way = map_new();
    e->preemptors = map_new();
    return e;
}

static const char *
key_of(const struct pod_view *pod, char out[OBJECT_KEY_SIZE])
{
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return out;
}

static void
count_for(struct evictions *e, const struct pod_view *preemptor, int by)
{
    char key[OBJECT_KEY_SIZE];
    uintptr_t count = (uintptr_t)map_find(e->preemptors, key_of(preemptor, key)) + (uintptr_t)by;

    if (count > 0)
        map_put(e->preemptors, key, (void *)count);
    else
        map_remove(e->preemptors, key);
}

bool
evictions_has_preemptor(const struct evictions *e, const struct pod_view *preemptor)
{
    char key[OBJECT_KEY_SIZE];

    return map_count(e->preemptors) > 0 && map_find(e->preemptors, key_of(preemptor, key)) != NULL;
}

static void
eviction_free(struct eviction *v)
{
    pod_removal_cancel(v->removal);
    pod_view_unref(v->victim);
    pod_view_unref(v->preemptor);
    free(v->key);
    free(v);
}

void
evictions_free(struct evictions *e)
{
    size_t at = 0;
    void *value;

    if (e == NULL)
        return;
    while (map_next(e->under_way, &at, NULL, &value))
        eviction_free(value);
    map_free(e->under_way);
    map_free(e->preemptors);
    free(e);
}

static void
removed(const struct client_reply *reply, void *context)
{
    struct eviction *v = context;
    struct evictions *e = v->owner;
    struct error err = {0};
    bool has_failed = pod_removal_error(reply, &err) < 0;

    v->removal = NULL;
    if (has_failed)
        log_warning("pod '%s' was to be preempted, but stays: %s", v->key, err.text);
    map_remove(e->under_way, v->key);
    count_for(e, v->preemptor, -1);
    e->settings.ended(v->preemptor, has_failed, clock_monotonic_us(e->settings.clock) - v->began_us,
                      e->settings.context);
    eviction_free(v);
}

char *
evictions_describe(const struct pod_view *preemptor)
{
    const char *user = string_map_find(&preemptor->pod->meta.annotations, ANNOTATION_USER);
    CLEANUP_FREE char *by = user != NULL ? xasprintf(" of %.64s", user) : xstrdup("");

    return preemptor->job_id != 0 ? xasprintf("job %" PRId64 "%s", preemptor->job_id, by)
                                  : xasprintf("another pod%s", by);
}

static char *
format_reason(const struct pod_view *preemptor)
{
    CLEANUP_FREE char *by = evictions_describe(preemptor);

    return xasprintf("preempted by %s", by);
}

void
evictions_add(struct evictions *e, struct pod_view *victim, struct pod_view *preemptor,
              const char *node_name, enum partition_preemption mode, int64_t grace_s)
{
    char key[OBJECT_KEY_SIZE];
    CLEANUP_FREE char *message = NULL, *why = NULL, *words = NULL, *by = NULL;
    struct eviction *v;

    if (map_find(e->under_way, key_of(victim, key)) != NULL)
        return;
    v = xnew(struct eviction);
    v->owner = e;
    v->key = xstrdup(key);
    v->victim = pod_view_ref(victim);
    v->preemptor = pod_view_ref(preemptor);
    v->began_us = clock_monotonic_us(e->settings.clock);
    map_put(e->under_way, key, v);
    count_for(e, preemptor, 1);
    by = preemptor->job_id != 0 ? evictions_describe(preemptor)
                                : xasprintf("pod %s/%s", preemptor->namespace, preemptor->name);
    message = xasprintf("Preempted by %s on node %s", by, node_name);
    e->settings.begins(victim, message, e->settings.context);
    why = xasprintf("%s: preempting to accommodate a higher priority pod",
                    preemptor->pod->spec.scheduler_name);
    words = format_reason(preemptor);
    v->removal = pod_removal_begin(
        e->settings.client, e->settings.clock,
        &(struct pod_removal_order){
            .namespace = victim->namespace,
            .name = victim->name,
            .uid = victim->uid,
            .reason = REASON_PREEMPTION_BY_SCHEDULER,
            .message = why,
            .cause = &(struct pod_cause){.code = job_reason_name(JOB_REASON_PREEMPTED),
                                         .message = words,
                                         .is_final = mode == PREEMPTION_CANCELS},
            .grace_s = grace_s,
        },
        removed, v);
}
