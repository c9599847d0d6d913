/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's thread never waits, so an assignment is a small state machine: a plugin that
 * cannot answer yet says so, and calls back. The members of a group pass each stage together.
 * When one fails, all others have to be taken back, but plugins may still be busy with them
 * and a walk over the members may be under way; so the group is marked first, and ended when
 * nobody refers to its members any more.
 */
#include "controller/scheduler/bind/binding_cycle.h"

#include <stdio.h>

#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/probe.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/queue/queue.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/client/client.h"

/* The longest wait for Permit (kube-scheduler, maxTimeout). */
#define PERMIT_MAX_US (INT64_C(15) * 60 * 1000000)

struct binding_cycle {
    struct binding_cycle_settings settings;
    struct list all;
    struct map *by_pod; /* "namespace/name" */
};

struct binding_cycle *
binding_cycle_new(const struct binding_cycle_settings *settings)
{
    struct binding_cycle *b = xnew(struct binding_cycle);

    b->settings = *settings;
    list_init(&b->all);
    b->by_pod = map_new();
    return b;
}

static void
leave_group(struct assignment_group *g)
{
    if (g == NULL || --g->n_users > 0)
        return;
    dispatch_cancel(g->call);
    free(g->members);
    free(g->name);
    free(g->cause_words);
    free(g->cause_brief);
    free(g);
}

void
assignment_free(struct assignment *a)
{
    dispatch_cancel(a->call);
    leave_group(a->group);
    cycle_fini(&a->cycle);
    if (a->queued != NULL)
        queued_pod_free(a->queued);
    extender_results_free(a->extender_results);
    free(a->node_name);
    free(a->domains);
    free(a->error);
    free(a);
}

/* Until the assignment has left the queue, the queue owns the pod and frees it.
 */
void
assignment_abandon(struct assignment *a)
{
    if (!a->has_left && !a->queued->is_deleted)
        a->queued = NULL;
    assignment_free(a);
}

void
binding_cycle_free(struct binding_cycle *b)
{
    if (b == NULL)
        return;
    list_foreach_safe(link, &b->all)
        assignment_abandon(container_of(link, struct assignment, link));
    map_free(b->by_pod);
    free(b);
}

static void
begin_stage(const struct binding_cycle *b, struct assignment *a, enum assignment_stage stage)
{
    a->stage = stage;
    a->stage_at_us = clock_monotonic_us(b->settings.clock);
}

static void
end_stage(const struct binding_cycle *b, const struct assignment *a, enum verdict verdict)
{
    if (b->settings.passed != NULL)
        b->settings.passed(a, verdict, clock_monotonic_us(b->settings.clock) - a->stage_at_us,
                           b->settings.context);
}

static struct answer
answer_of(unsigned plugin, enum verdict verdict, uint32_t reason)
{
    return (struct answer){
        .verdict = (uint8_t)verdict,
        .plugin = (uint8_t)plugin,
        .reason = reason,
    };
}

static void
take_off(struct binding_cycle *b, struct assignment *a, enum verdict verdict)
{
    end_stage(b, a, verdict);
    list_remove(&a->link);
    map_remove(b->by_pod, a->queued->key);
}

/* Ends a failed group when no walk and no outstanding plugin refers to its
 * members any more.
 */
static void
end_failed_group(struct binding_cycle *b, struct assignment_group *g)
{
    unsigned count = g->count;

    if (g->failed == NULL || g->is_walked || g->n_outstanding > 0)
        return;
    for (unsigned i = 0; i < count; i++)
        take_off(b, g->members[i], g->answer.verdict);
    b->settings.group_failed(g, b->settings.context);
    for (unsigned i = count; i-- > 0;)
        assignment_free(g->members[i]);
}

/* Plugins that still work for other members need not continue. */
static void
fail_group(struct binding_cycle *b, struct assignment *a, struct answer answer)
{
    struct assignment_group *g = a->group;
    bool was_walked = g->is_walked;

    if (g->failed == NULL) {
        g->failed = a;
        g->answer = answer;
        g->is_walked = true;
        for (unsigned i = 0; i < g->count; i++)
            if (g->members[i]->is_outstanding)
                b->settings.abandon(g->members[i], b->settings.context);
        g->is_walked = was_walked;
    }
    end_failed_group(b, g);
}

static void
end(struct binding_cycle *b, struct assignment *a, struct answer answer)
{
    if (a->group != NULL && answer.verdict != VERDICT_OK) {
        fail_group(b, a, answer);
        return;
    }
    take_off(b, a, answer.verdict);
    b->settings.ended(a, answer, b->settings.context);
    assignment_free(a);
}

/* Calls `step` for the members one after the other, until one fails. */
typedef void member_fn(struct binding_cycle *b, struct assignment *a);

static void
walk(struct binding_cycle *b, struct assignment_group *g, member_fn *step)
{
    bool was_walked = g->is_walked;

    g->is_walked = true;
    for (unsigned i = 0; i < g->count && g->failed == NULL; i++)
        step(b, g->members[i]);
    g->is_walked = was_walked;
}

/* The member has passed the stage; `next` begins when all members have. */
static void
come_through(struct binding_cycle *b, struct assignment *a, member_fn *next)
{
    struct assignment_group *g = a->group;

    if (g == NULL) {
        next(b, a);
        return;
    }
    if (++g->n_through < g->count)
        return;
    g->n_through = 0;
    walk(b, g, next);
    end_failed_group(b, g);
}

/* The plugin whose turn it is; PLUGIN_NONE after the last one. */
static unsigned
plugin_of(const struct assignment *a)
{
    const struct point_order *order =
        &a->profile->orders[a->stage == ASSIGNMENT_BIND ? POINT_BIND : POINT_PREBIND];

    return a->turn < order->count ? order->items[a->turn] : PLUGIN_NONE;
}

static void
finish(struct binding_cycle *b, struct assignment *a)
{
    profile_foreach(i, a->profile, POINT_POSTBIND)
    {
        const struct profile_entry *e = &a->profile->entries[i];

        e->plugin->postbind(e->self, a);
    }
    end(b, a, ANSWER_OK);
}

/* The first plugin that does not skip the pod binds it. */
void
binding_cycle_bind(struct binding_cycle *b, struct assignment *a)
{
    for (a->turn = 0; plugin_of(a) != PLUGIN_NONE; a->turn++) {
        const struct profile_entry *e = &a->profile->entries[plugin_of(a)];
        uint32_t reason = STRING_ID_NONE;
        const char *name = e->plugin->name;
        int64_t began_us = probe_begin(b->settings.handle);
        enum verdict verdict;

        verdict = e->plugin->bind(e->self, a, &reason);
        probe_end(b->settings.handle, name, POINT_BIND, verdict, began_us);
        if (verdict == VERDICT_SKIP)
            continue;
        if (verdict == VERDICT_OK)
            finish(b, a);
        else if (verdict != VERDICT_WAIT)
            end(b, a, answer_of(plugin_of(a), verdict, reason));
        return;
    }
    end(b, a,
        answer_of(PLUGIN_NONE, VERDICT_ERROR,
                  handle_reason(b->settings.handle, "no plugin of the profile binds")));
}

static void
begin_bind(struct binding_cycle *b, struct assignment *a)
{
    end_stage(b, a, VERDICT_OK);
    begin_stage(b, a, ASSIGNMENT_BIND);
    a->turn = 0;
    if (b->settings.bind_by_extender == NULL
        || !b->settings.bind_by_extender(a, b->settings.context))
        binding_cycle_bind(b, a);
}

/* From here on, events of other pods no longer matter to the pod. */
static void
leave_queue(struct binding_cycle *b, struct assignment *a)
{
    b->settings.leaving(a, b->settings.context);
    a->has_left = true;
    come_through(b, a, begin_bind);
}

static void
set_outstanding(struct assignment *a, bool is_outstanding)
{
    if (a->group == NULL || a->is_outstanding == is_outstanding)
        return;
    a->is_outstanding = is_outstanding;
    a->group->n_outstanding += is_outstanding ? 1 : -1u;
}

/* Continues with the plugin whose turn it is. */
static void
prebind(struct binding_cycle *b, struct assignment *a)
{
    for (; plugin_of(a) != PLUGIN_NONE; a->turn++) {
        const struct profile_entry *e = &a->profile->entries[plugin_of(a)];
        uint32_t reason = STRING_ID_NONE;
        const char *name = e->plugin->name;
        int64_t began_us = probe_begin(b->settings.handle);
        enum verdict verdict;

        verdict = e->plugin->prebind(e->self, a, &reason);
        probe_end(b->settings.handle, name, POINT_PREBIND, verdict, began_us);
        if (verdict == VERDICT_WAIT) {
            set_outstanding(a, true);
            return;
        }
        if (verdict != VERDICT_OK && verdict != VERDICT_SKIP) {
            end(b, a, answer_of(plugin_of(a), verdict, reason));
            return;
        }
    }
    come_through(b, a, leave_queue);
}

static void
begin_prebind(struct binding_cycle *b, struct assignment *a)
{
    end_stage(b, a, VERDICT_OK);
    begin_stage(b, a, ASSIGNMENT_PREBIND);
    prebind(b, a);
}

/* A plugin that refuses ends the assignment; plugins that say wait are waited
 * for together.
 */
static bool
ask_permit(struct binding_cycle *b, struct assignment *a, const struct node_view *node,
           struct answer *ret_refusal)
{
    int64_t longest_us = 0;

    profile_foreach(i, a->profile, POINT_PERMIT)
    {
        const struct profile_entry *e = &a->profile->entries[i];
        uint32_t reason = STRING_ID_NONE;
        int64_t timeout_us = 0;
        int64_t began_us = probe_begin(b->settings.handle);
        enum verdict verdict;

        verdict = e->plugin->permit(e->self, &a->cycle, node, &timeout_us, &reason);
        probe_end(b->settings.handle, e->plugin->name, POINT_PERMIT, verdict, began_us);
        if (verdict == VERDICT_WAIT) {
            a->waiting |= PLUGIN_BIT(i);
            a->has_waited = true;
            if (timeout_us > longest_us)
                longest_us = timeout_us;
        } else if (verdict != VERDICT_OK) {
            *ret_refusal = answer_of(i, verdict, reason);
            return false;
        }
    }
    if (longest_us > PERMIT_MAX_US)
        longest_us = PERMIT_MAX_US;
    a->deadline_us = clock_monotonic_us(b->settings.clock) + longest_us;
    a->is_asked = true;
    return true;
}

static void
enter(struct binding_cycle *b, struct assignment *a)
{
    list_add_last(&b->all, &a->link);
    map_put(b->by_pod, a->queued->key, a);
    a->owner = b;
    begin_stage(b, a, ASSIGNMENT_PERMIT);
}

static void
permit(struct binding_cycle *b, struct assignment *a, const struct node_view *node)
{
    struct answer refusal;

    if (!ask_permit(b, a, node, &refusal))
        end(b, a, refusal);
    else if (a->waiting == 0)
        come_through(b, a, begin_prebind);
}

void
binding_cycle_start(struct binding_cycle *b, struct assignment *a TAKES,
                    const struct node_view *node)
{
    enter(b, a);
    permit(b, a, node);
}

static void
permit_member(struct binding_cycle *b, struct assignment *a)
{
    permit(b, a, snapshot_find(a->cycle.snapshot, a->node_name));
}

void
binding_cycle_start_group(struct binding_cycle *b, struct assignment_group *g TAKES)
{
    walk(b, g, enter);
    walk(b, g, permit_member);
    end_failed_group(b, g);
}

void
binding_cycle_resume(struct binding_cycle *b, struct assignment *a, enum verdict verdict,
                     uint32_t reason)
{
    if (a->stage == ASSIGNMENT_PERMIT)
        return; /* only allow and reject end Permit */
    set_outstanding(a, false);
    if (a->group != NULL && a->group->failed != NULL) {
        end_failed_group(b, a->group);
    } else if (verdict != VERDICT_OK) {
        end(b, a, answer_of(plugin_of(a), verdict, reason));
    } else if (a->stage == ASSIGNMENT_BIND) {
        finish(b, a);
    } else {
        a->turn++;
        prebind(b, a);
    }
}

void
binding_cycle_allow(struct binding_cycle *b, struct assignment *a, unsigned plugin)
{
    a->waiting &= ~PLUGIN_BIT(plugin);
    if (a->waiting == 0)
        come_through(b, a, begin_prebind);
}

void
binding_cycle_reject(struct binding_cycle *b, struct assignment *a, unsigned plugin,
                     uint32_t reason)
{
    end(b, a, answer_of(plugin, VERDICT_REJECT, reason));
}

/* The first assignment that waits too long. Ending it may end others of its
 * group, so the caller searches again.
 */
static struct assignment *
find_expired(const struct binding_cycle *b, int64_t now_us)
{
    list_foreach(link, &b->all)
    {
        struct assignment *a = container_of(link, struct assignment, link);

        if (a->stage == ASSIGNMENT_PERMIT && a->waiting != 0 && a->deadline_us <= now_us)
            return a;
    }
    return NULL;
}

void
binding_cycle_expire(struct binding_cycle *b)
{
    int64_t now_us = clock_monotonic_us(b->settings.clock);
    struct assignment *a;

    while ((a = find_expired(b, now_us)) != NULL)
        end(b, a,
            answer_of(assignment_waits_for(a), VERDICT_REJECT,
                      handle_reason(b->settings.handle, "timed out waiting on permit")));
}

unsigned
assignment_waits_for(const struct assignment *a)
{
    return a->waiting != 0 ? (unsigned)__builtin_ctzll(a->waiting) : PLUGIN_NONE;
}

/* While plugins are asked about a pod, they may allow other pods but not that
 * pod.
 */
static bool
is_waiting(const struct assignment *a)
{
    return a->stage == ASSIGNMENT_PERMIT && a->is_asked && (a->waiting != 0 || a->group != NULL);
}

struct assignment *
binding_cycle_find_waiting(const struct binding_cycle *b, const struct pod_view *pod)
{
    struct assignment *a = binding_cycle_find(b, pod->namespace, pod->name);

    return a != NULL && is_waiting(a) && pod_view_is_same(a->cycle.pod, pod) ? a : NULL;
}

void
binding_cycle_visit_waiting(const struct binding_cycle *b, binding_cycle_visit_fn *visit,
                            void *context)
{
    list_foreach(link, &b->all)
    {
        struct assignment *a = container_of(link, struct assignment, link);

        if (is_waiting(a) && a->waiting != 0)
            visit(a->cycle.pod, a->node_name, context);
    }
}

struct assignment *
binding_cycle_find(const struct binding_cycle *b, const char *namespace, const char *name)
{
    char key[OBJECT_KEY_SIZE];

    snprintf(key, sizeof(key), "%s/%s", namespace != NULL ? namespace : "", name);
    return map_find(b->by_pod, key);
}

size_t
binding_cycle_count(const struct binding_cycle *b)
{
    return map_count(b->by_pod);
}
