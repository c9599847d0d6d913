/* SPDX-License-Identifier: Apache-2.0 */
/* How a pod of the queue changes its state. */
#include <stdio.h>

#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/in_flight.h"
#include "controller/scheduler/queue/late_rooms.h"
#include "controller/scheduler/queue/queue_order.h"
#include "controller/scheduler/queue/queue_state.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/strbuf.h"

/* With sharing, the scheduler's time for each retry: a retry that costs 50 us
 * takes a fifth of the thread.
 */
#define RETRY_SHARE_US 250

/* At most this many active pods are ranked again at once: it takes about a
 * millisecond.
 */
#define RERANK_MOST 512

int64_t
queue_backoff_us(int64_t initial_us, int64_t max_us, unsigned attempts)
{
    return backoff_after(attempts, initial_us, max_us);
}

static int64_t
backoff_end_us(const struct queue *q, const struct queued_pod *p)
{
    int64_t most = q->settings.max_backoff_us;
    plugin_set rejectors = p->unschedulable | p->pending;
    /* Any event activates a pod that extenders rejected, so only the full
     * backoff keeps the scheduler from asking them all the time.
     */
    bool was_rejected = rejectors != 0 && (rejectors & PLUGIN_BIT(PLUGIN_EXTENDERS)) == 0;

    if (q->settings.is_sharing && was_rejected) {
        int64_t others = (int64_t)unschedulable_pods_groups(q->unschedulable_pods);
        int64_t own = p->queued_group != NULL ? p->queued_group->n_ready : 0;
        int64_t round = (others + own) * RETRY_SHARE_US;

        most = round < most ? round : most;
        return p->failed_at_us
               + queue_backoff_us(
                   most < q->settings.initial_backoff_us ? most : q->settings.initial_backoff_us,
                   most, p->attempts);
    }
    return p->failed_at_us + queue_backoff_us(q->settings.initial_backoff_us, most, p->attempts);
}

int64_t
queue_now_us(const struct queue *q)
{
    return clock_monotonic_us(q->settings.clock);
}

bool
queue_is_backing_off(const struct queue *q, const struct queued_pod *p)
{
    return p->state != QUEUE_GATED && backoff_end_us(q, p) > queue_now_us(q);
}

void
queue_unrank(const struct queue *q, struct queued_pod *p)
{
    if (p->rank.kind != NULL && q->policy->unrank != NULL)
        q->policy->unrank(p, q->settings.context);
    p->rank.kind = NULL;
}

void
queue_enter_order(struct queue *q, struct queued_pod *p)
{
    if (!p->is_ordered)
        queue_order_add(q->order, p);
    p->is_ordered = true;
}

void
queue_leave_order(struct queue *q, struct queued_pod *p)
{
    if (p->is_ordered)
        queue_order_remove(q->order, p);
    p->is_ordered = false;
}

void
queue_must_run(struct queued_pod *p)
{
    p->woken_for = 0;
    p->is_woken_by_pods = false;
}

void
queue_take_out(struct queue *q, struct queued_pod *p)
{
    queue_must_run(p);
    switch (p->state) {
    case QUEUE_ACTIVE:
        heap_remove(q->active, p);
        queue_unrank(q, p);
        break;
    case QUEUE_BACKOFF:
        heap_remove(q->backoff, p);
        break;
    case QUEUE_UNSCHEDULABLE:
        unschedulable_pods_remove(q->unschedulable_pods, p);
        list_remove(&p->link);
        break;
    case QUEUE_GATED:
        list_remove(&p->link);
        q->n_gated--;
        break;
    case QUEUE_IN_FLIGHT:
        in_flight_end(q->in_flight, p);
        break;
    case QUEUE_IN_GROUP:
        list_remove(&p->link);
        q->n_in_group--;
        p->queued_group->n_ready--;
        break;
    }
}

void
queue_count_rejectors(struct queued_pod *p, plugin_set rejectors)
{
    plugin_set changed;

    rejectors &= ~PLUGIN_BIT(PLUGIN_EXTENDERS);
    changed = p->counted ^ rejectors;
    for (; changed != 0; changed &= changed - 1) {
        unsigned i = (unsigned)__builtin_ctzll(changed);

        if ((rejectors & PLUGIN_BIT(i)) != 0)
            p->profile->rejected[i]++;
        else
            p->profile->rejected[i]--;
        p->profile->has_rejected[i] = true;
    }
    p->counted = rejectors;
}

static void
entered(const struct queue *q, struct queued_pod *p, const char *where)
{
    queue_count_rejectors(p, p->unschedulable);
    if (q->policy->entered != NULL)
        q->policy->entered(where, q->event, q->settings.context);
}

static void
set_rank(struct queue *q, struct queued_pod *p, struct queue_rank rank)
{
    if (rank.number != p->rank.number || rank.is_guarded != p->rank.is_guarded
        || rank.key < p->rank.key || rank.key > p->rank.key)
        queue_leave_order(q, p);
    p->rank = rank;
    queue_enter_order(q, p);
}

void
queue_rerank(struct queue *q)
{
    struct queued_pod *pods[RERANK_MOST];
    size_t count = heap_count(q->active);

    if (q->policy->rank == NULL || count > RERANK_MOST)
        return;
    for (size_t i = 0; i < count; i++) {
        pods[i] = heap_pop(q->active);
        queue_unrank(q, pods[i]);
    }
    for (size_t i = 0; i < count; i++) {
        set_rank(q, pods[i], q->policy->rank(pods[i], q->settings.context));
        heap_push(q->active, pods[i]);
    }
}

static void
put_active(struct queue *q, struct queued_pod *p)
{
    p->state = QUEUE_ACTIVE;
    p->passed_over = 0;
    entered(q, p, "active");
    if (p->first_at_us == 0)
        p->first_at_us = queue_now_us(q);
    if (q->policy->rank != NULL)
        set_rank(q, p, q->policy->rank(p, q->settings.context));
    queue_enter_order(q, p);
    heap_push(q->active, p);
    if (q->policy->activated != NULL)
        q->policy->activated(q->settings.context);
}

void
queue_put_gated(struct queue *q, struct queued_pod *p)
{
    p->state = QUEUE_GATED;
    queue_leave_order(q, p);
    entered(q, p, "gated");
    list_add_last(&q->gated, &p->link);
    q->n_gated++;
}

/* The pod is in no state when this is called. */
void
queue_enter(struct queue *q, struct queued_pod *p)
{
    struct answer answer = profile_pre_enqueue(p->profile, p->pod);

    if (answer.verdict == VERDICT_OK) {
        p->gate_reason = STRING_ID_NONE;
        if (p->queued_group == NULL || p->queued_group->leader == p)
            put_active(q, p);
        else
            queue_enter_group(q, p);
        return;
    }
    p->gate_reason = answer.reason;
    p->unschedulable |= PLUGIN_BIT(answer.plugin);
    queue_wake_next(q, p);
    queue_put_gated(q, p);
    if (p->queued_group != NULL && p->queued_group->leader == p)
        queue_lose_leader(q, p->queued_group);
}

/* A group with more runs of different members than this gets no signature. */
#define GROUP_RUNS 8

/* Groups whose members are equal one by one wait for the same. */
static uint32_t
sign_group(const struct queue *q, const struct queued_group *g)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    uint32_t last = SIGNATURE_NONE;
    unsigned runs = 0, length = 0;

    strbuf_add_text(&text, g->is_one_per_node ? "spread group" : "group");
    for (uint32_t i = 0; i < g->count; i++) {
        const struct queued_pod *p = g->members[i];
        uint32_t signature = profile_sign(p->profile, p->pod, q->settings.signatures);

        if (signature == SIGNATURE_NONE || runs > GROUP_RUNS)
            return SIGNATURE_NONE;
        if (signature == last) {
            length++;
            continue;
        }
        if (runs++ > 0)
            strbuf_printf(&text, " %u*%u", length, last);
        last = signature;
        length = 1;
    }
    strbuf_printf(&text, " %u*%u", length, last);
    return string_ids_add(q->settings.signatures, text.text);
}

/* Equal pods of one rank are in one group, unless a preemption makes room for
 * this pod, a plugin that rejected it looks at other pods, too, or other pods of
 * its PodGroup keep it off their nodes. Their shape leaves out the time limit and
 * the rank.
 */
static uint32_t
sharing_signature(const struct queue *q, const struct queued_pod *p, uint32_t *ret_shape,
                  uint32_t *ret_admission)
{
    plugin_set rejectors = p->unschedulable | p->pending;

    *ret_shape = *ret_admission = SIGNATURE_NONE;

    if (!q->settings.is_sharing || nominator_node(q->settings.nominator, p->pod) != NULL)
        return SIGNATURE_NONE;
    for (unsigned i = 0; i < p->profile->n_entries; i++)
        if ((rejectors & PLUGIN_BIT(i)) != 0 && p->profile->entries[i].plugin->depends_on_others)
            return SIGNATURE_NONE;
    if (p->queued_group == NULL && queue_goes_one_per_node(q, p))
        return SIGNATURE_NONE;
    *ret_shape = p->queued_group == NULL ? profile_sign(p->profile, p->pod, q->settings.signatures)
                                         : sign_group(q, p->queued_group);
    return profile_sign_timed(p->profile, p->pod, *ret_shape, p->rank.number,
                              q->settings.signatures, ret_admission);
}

/* For a pod that is in no group of equal pods. */
static uint32_t
hint_signature(const struct queue *q, const struct queued_pod *p)
{
    return q->settings.is_sharing
               ? profile_sign_hints(p->profile, wake_strategy_pod(p), p->unschedulable | p->pending,
                                    q->settings.signatures)
               : SIGNATURE_NONE;
}

static void
put_unschedulable(struct queue *q, struct queued_pod *p)
{
    struct sleep_signs signs = {.hints = SIGNATURE_NONE, .seen = late_rooms_next(q->late_rooms)};

    signs.signature = sharing_signature(q, p, &signs.shape, &signs.admission);
    if (signs.signature == SIGNATURE_NONE)
        signs.hints = hint_signature(q, p);

    if (p->group != NULL && !unschedulable_pods_speaks_for_group(p, &signs))
        queue_wake_next(q, p);
    p->state = QUEUE_UNSCHEDULABLE;
    queue_enter_order(q, p);
    entered(q, p, "unschedulable");
    unschedulable_pods_add(q->unschedulable_pods, p, &signs);
    list_add_last(&q->unschedulable, &p->link);
}

static void
put_backoff(struct queue *q, struct queued_pod *p)
{
    p->state = QUEUE_BACKOFF;
    queue_enter_order(q, p);
    entered(q, p, "backoff");
    p->backoff_end_us = backoff_end_us(q, p);
    heap_push(q->backoff, p);
}

/* The pod is in no state when this is called. */
void
queue_requeue(struct queue *q, struct queued_pod *p, enum wake_strategy strategy)
{
    if (strategy == WAKE_SKIP)
        put_unschedulable(q, p);
    else if (strategy == WAKE_AFTER_BACKOFF && queue_is_backing_off(q, p))
        put_backoff(q, p);
    else
        queue_enter(q, p);
}

/* When the activated pod of a group is placed or gone, the next one is
 * activated.
 */
void
queue_wake_next(struct queue *q, struct queued_pod *p)
{
    struct queued_pod *next;

    if (!unschedulable_pods_leave(q->unschedulable_pods, p, &next))
        return;
    queue_take_out(q, next);
    queue_requeue(q, next, WAKE_AFTER_BACKOFF);
}
