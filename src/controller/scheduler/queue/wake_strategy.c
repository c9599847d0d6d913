/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that registered no event for what happened cannot have changed its mind, so the pod
 * sleeps on. Where nobody can know, the pod is tried: a pod without a rejecting plugin failed
 * for an error, and extenders do not say what helps.
 */
#include "controller/scheduler/queue/wake_strategy.h"

#include <stddef.h>

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/probe.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/queued_group.h"
#include "lib/api/job/job_update.h"
#include "lib/api/object/object.h"

static bool
ask_hint(const struct profile *profile, const struct profile_entry *e, const struct wake *wake,
         const struct pod_view *pod, const struct cluster_event *event,
         const struct object *old_object, const struct object *new_object)
{
    const struct handle *handle = profile->handle;
    bool is_measured = handle->probe != NULL && handle->probe->hint_took != NULL;
    int64_t began_us = is_measured ? clock_monotonic_us(handle->clock) : 0;
    bool is_helping = wake->hint(e->self, pod, old_object, new_object);

    if (is_measured)
        handle->probe->hint_took(handle->probe->context, e->plugin->name, event->label, is_helping,
                                 clock_monotonic_us(handle->clock) - began_us);
    return is_helping;
}

static enum wake_strategy
ask_plugin(const struct profile_entry *e, const struct queued_pod *p,
           const struct cluster_event *event, const struct object *old_object,
           const struct object *new_object)
{
    const struct plugin *plugin = e->plugin;

    for (unsigned i = 0; i < plugin->n_wakes; i++) {
        const struct wake *wake = &plugin->wakes[i];

        if (!event_is_covered(wake->resource, wake->actions, event))
            continue;
        if (wake->hint == NULL || (old_object == NULL && new_object == NULL)
            || ask_hint(p->profile, e, wake, wake_strategy_pod(p), event, old_object, new_object))
            return WAKE_AFTER_BACKOFF;
    }
    return WAKE_SKIP;
}

/* The pod was changed along with its Job, so the plugins that rejected it may
 * no longer do so.
 */
static bool
is_updated_by_job(const struct cluster_event *event, const struct object *old_object,
                  const struct object *new_object)
{
    return event->resource == EVENT_POD && old_object != NULL && new_object != NULL
           && !job_update_is_current(old_object->meta, new_object->meta);
}

const struct pod_view *
wake_strategy_pod(const struct queued_pod *p)
{
    const struct queued_group *g = p->queued_group;

    return g != NULL && g->leader == p && g->rejected != NULL ? g->rejected->pod : p->pod;
}

enum wake_strategy
wake_strategy(const struct queued_pod *p, const struct cluster_event *event,
              const struct object *old_object, const struct object *new_object)
{
    plugin_set rejectors = p->unschedulable | p->pending;
    enum wake_strategy strategy = WAKE_SKIP;

    if (rejectors == 0)
        return WAKE_AFTER_BACKOFF;
    if (is_updated_by_job(event, old_object, new_object) && pod_view_is_of(p->pod, new_object))
        return WAKE_NOW;
    if (event->resource == EVENT_WILDCARD)
        return new_object == NULL || pod_view_is_of(p->pod, new_object) ? WAKE_AFTER_BACKOFF
                                                                        : WAKE_SKIP;
    /* Extenders do not say which events would help. Any event might, except an
     * update of the pod that only reports why it waits.
     */
    if ((rejectors & PLUGIN_BIT(PLUGIN_EXTENDERS)) != 0 && event->actions != ACTION_UPDATE_OTHER)
        return WAKE_AFTER_BACKOFF;
    /* A change of a partition or of a node reservation also concerns pods that
     * wait for something else in it: another attempt updates what they report.
     */
    if (event->resource == EVENT_PARTITION || event->resource == EVENT_NODE_RESERVATION)
        rejectors = ~(plugin_set)0;
    for (unsigned i = 0; i < p->profile->n_entries; i++) {
        if ((rejectors & PLUGIN_BIT(i)) == 0
            || ask_plugin(&p->profile->entries[i], p, event, old_object, new_object) == WAKE_SKIP)
            continue;
        if ((p->pending & PLUGIN_BIT(i)) != 0)
            return WAKE_NOW;
        strategy = WAKE_AFTER_BACKOFF;
    }
    return strategy;
}
