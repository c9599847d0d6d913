/* SPDX-License-Identifier: Apache-2.0 */
/* The handle's functions: what the scheduler does for its plugins. */
#include <string.h>

#include "controller/scheduler/bind/bind_call.h"
#include "controller/scheduler/bind/binding_cycle.h"
#include "controller/scheduler/bind/dispatcher.h"
#include "controller/scheduler/bind/evictions.h"
#include "controller/scheduler/bind/volume_calls.h"
#include "controller/scheduler/bind/yields.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/framework/volume_book.h"
#include "controller/scheduler/placing/group_placer.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/plugins/preemption/victim_terms.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"

static void
bind_done(const struct client_reply *reply, void *context)
{
    struct assignment *a = context;
    struct binding_cycle *b = a->owner;
    struct error err = {0};

    a->call = NULL;
    if (client_reply_error(reply, &err) == 0) {
        binding_cycle_resume(b, a, VERDICT_OK, STRING_ID_NONE);
        return;
    }
    /* The pod was deleted meanwhile, so there is nothing to try again. */
    if (reply->code == 404) {
        a->queued->is_deleted = true;
        binding_cycle_resume(b, a, VERDICT_ERROR, STRING_ID_NONE);
        return;
    }
    error_wrap(&err, err.code, "binding to node '%s'", a->node_name);
    a->error = xstrdup(err.text);
    log_warning("pod '%s': %s, trying again", a->queued->key, err.text);
    binding_cycle_resume(b, a, VERDICT_ERROR, STRING_ID_NONE);
}

static struct pod_to_bind
bind_member_of(struct assignment *a)
{
    const struct scheduler *s = a->profile->handle->owner;

    group_placer_set_domains_told(s->group_placer, a);
    return (struct pod_to_bind){
        .pod = a->cycle.pod,
        .node_name = a->node_name,
        .domains = a->domains,
        .grant = cycle_get(&a->cycle, CYCLE_GRANT),
        .topology_index = cycle_get(&a->cycle, CYCLE_TOPOLOGY_INDEX),
    };
}

static struct client_call *
bind_start(struct client *client, client_done_fn *done, void *done_context, void *context)
{
    const struct pod_to_bind member = bind_member_of(context);

    return bind_call(client, &member, done, done_context);
}

/* Only the binding of another pod of that name can replace this one. */
static void
bind_dropped(void *context)
{
    struct assignment *a = context;

    a->call = NULL;
    a->queued->is_deleted = true;
    binding_cycle_resume(a->owner, a, VERDICT_ERROR, STRING_ID_NONE);
}

const struct dispatch_kind scheduler_binding_kind = {
    .name = "pod_binding",
    .relevance = 2,
    .start = bind_start,
    .done = bind_done,
    .dropped = bind_dropped,
};

/* A group is bound in one request. */

static struct client_call *
bind_group_start(struct client *client, client_done_fn *done, void *done_context, void *context)
{
    const struct assignment_group *g = context;
    CLEANUP_FREE struct pod_to_bind *members = xnew_array(struct pod_to_bind, g->count);

    for (unsigned i = 0; i < g->count; i++)
        members[i] = bind_member_of(g->members[i]);
    return bind_call_group(client, members, g->count, done, done_context);
}

/* The member that the answer names, or NULL. */
static struct assignment *
find_refused(const struct assignment_group *g, const struct client_reply *reply)
{
    const char *name = reply->status != NULL ? reply->status->details.name : NULL;

    for (unsigned i = 0; i < g->count && name != NULL; i++)
        if (strcmp(g->members[i]->cycle.pod->name, name) == 0)
            return g->members[i];
    return NULL;
}

/* The last member that is resumed frees the group. */
static void
bind_group_done(const struct client_reply *reply, void *context)
{
    struct assignment_group *g = context;
    struct binding_cycle *b = g->members[0]->owner;
    struct assignment *refused;
    struct error err = {0};

    g->call = NULL;
    if (client_reply_error(reply, &err) == 0) {
        for (unsigned i = 0, count = g->count; i < count; i++)
            binding_cycle_resume(b, g->members[i], VERDICT_OK, STRING_ID_NONE);
        return;
    }
    refused = find_refused(g, reply);
    if (refused == NULL)
        refused = g->members[0];
    else if (reply->code == 404)
        refused->queued->is_deleted = true; /* while it was bound */
    error_wrap(&err, err.code, "binding to node '%s'", refused->node_name);
    refused->error = xstrdup(err.text);
    if (!refused->queued->is_deleted)
        log_warning("pod '%s' and %u more of its group: %s, trying again", refused->queued->key,
                    g->count - 1, err.text);
    binding_cycle_resume(b, refused, VERDICT_ERROR, STRING_ID_NONE);
}

/* The binding of another pod with a member's name replaced this one: the member
 * was deleted, and the informers will report that.
 */
static void
bind_group_dropped(void *context)
{
    struct assignment_group *g = context;
    struct assignment *a = g->members[0];

    g->call = NULL;
    a->error = xstrdup("another pod with the name of one of them is bound");
    binding_cycle_resume(a->owner, a, VERDICT_ERROR, STRING_ID_NONE);
}

const struct dispatch_kind scheduler_group_binding_kind = {
    .name = "group_binding",
    .relevance = 2,
    .start = bind_group_start,
    .done = bind_group_done,
    .dropped = bind_group_dropped,
};

static void
bind_group(struct scheduler *s, struct assignment_group *g)
{
    CLEANUP_FREE const char **keys = xnew_array(const char *, g->count);

    for (unsigned i = 0; i < g->count; i++)
        keys[i] = g->members[i]->queued->key;
    g->call =
        dispatcher_add_for_all(s->dispatcher, keys, g->count, &scheduler_group_binding_kind, g);
}

/* A group is bound when its last member has asked for that. */
static void
handle_bind(void *owner, struct assignment *a)
{
    struct scheduler *s = owner;

    if (a->group == NULL)
        a->call = dispatcher_add(s->dispatcher, a->queued->key, &scheduler_binding_kind, a);
    else if (++a->group->n_asked == a->group->count)
        bind_group(s, a->group);
}

static void
handle_bind_volumes(void *owner, struct assignment *a, const struct volume_plan *plan)
{
    struct scheduler *s = owner;

    volume_calls_begin(s->volume_calls, a, plan);
}

/* The plugin's bit in the assignment's profile if the assignment waits for it,
 * or 0.
 */
static plugin_set
find_waiting_plugin(const struct assignment *a, const char *plugin)
{
    for (unsigned i = 0; i < a->profile->n_entries; i++)
        if (strcmp(a->profile->entries[i].plugin->name, plugin) == 0)
            return a->waiting & PLUGIN_BIT(i);
    return 0;
}

static bool
handle_allow(void *owner, const struct pod_view *pod, const char *plugin)
{
    struct scheduler *s = owner;
    struct assignment *a = binding_cycle_find_waiting(s->binding_cycle, pod);
    plugin_set waiting = a != NULL ? find_waiting_plugin(a, plugin) : 0;

    if (waiting == 0)
        return false;
    binding_cycle_allow(s->binding_cycle, a, (unsigned)__builtin_ctzll(waiting));
    return true;
}

static bool
handle_reject(void *owner, const struct pod_view *pod, const char *plugin, uint32_t reason)
{
    struct scheduler *s = owner;
    struct assignment *a = binding_cycle_find_waiting(s->binding_cycle, pod);
    plugin_set waiting = a != NULL ? find_waiting_plugin(a, plugin) : 0;

    if (waiting == 0)
        return false;
    binding_cycle_reject(s->binding_cycle, a, (unsigned)__builtin_ctzll(waiting), reason);
    return true;
}

static void
host_visit_waiting(void *owner, handle_visit_waiting_fn *visit, void *context)
{
    const struct scheduler *s = owner;

    binding_cycle_visit_waiting(s->binding_cycle, visit, context);
}

static void
handle_resume(void *owner, struct assignment *a, enum verdict verdict, uint32_t reason)
{
    struct scheduler *s = owner;

    binding_cycle_resume(s->binding_cycle, a, verdict, reason);
}

static void
handle_hold(void *owner, struct pod_view *pod, const struct node_view *node,
            struct holding *holding)
{
    struct scheduler *s = owner;

    (void)node;
    cache_hold(s->cache, pod, holding);
}

static const struct object *
handle_find(void *owner, const char *kind, const char *key)
{
    struct scheduler *s = owner;
    const struct map *objects = map_find(s->objects, kind);

    return objects != NULL ? map_find(objects, key) : NULL;
}

static void
handle_visit(void *owner, const char *kind, const char *namespace, handle_visit_fn *visit,
             void *context)
{
    struct scheduler *s = owner;
    const struct map *objects = map_find(s->objects, kind);
    size_t at = 0;
    void *value;

    while (objects != NULL && map_next(objects, &at, NULL, &value)) {
        const struct object *object = value;

        if (namespace != NULL && object->meta->namespace != NULL
            && strcmp(namespace, object->meta->namespace) != 0)
            continue;
        if (!visit(object, context))
            return;
    }
}

/* A victim that still waits for permission goes back to the queue at once. */
static void
handle_evict(void *owner, struct pod_view *victim, struct pod_view *preemptor,
             const char *node_name)
{
    struct scheduler *s = owner;
    struct assignment *a = binding_cycle_find_waiting(s->binding_cycle, victim);
    const struct victim_terms terms =
        victim_terms_find(scheduler_profile(s, preemptor->object),
                          cache_find_node(s->cache, node_name), victim, preemptor);

    s->evicted++;
    if (a != NULL)
        binding_cycle_reject(s->binding_cycle, a, assignment_waits_for(a),
                             string_ids_add(s->reasons, "preempted"));
    else if (terms.mode == PREEMPTION_SUSPENDS)
        yields_ask(s->yields, victim, preemptor);
    else if (!pod_view_is_terminating(victim))
        evictions_add(s->evictions, victim, preemptor, node_name, terms.mode, terms.grace_s);
}

static bool
handle_is_of_gang(void *owner, const struct pod_view *pod)
{
    const struct scheduler *s = owner;

    return pod->pod->spec.scheduling_group != NULL
           && pod_groups_is_gang(s->pod_groups, pod->object);
}

static void
handle_visit_gang(void *owner, const struct pod_view *pod, handle_visit_gang_fn *visit,
                  void *context)
{
    const struct scheduler *s = owner;

    if (pod->pod->spec.scheduling_group != NULL
        && pod_groups_ends_together(s->pod_groups, pod->object))
        cache_visit_group(s->cache, pod, visit, context);
}

static bool
handle_refuses_to_yield(void *owner, const struct pod_view *pod)
{
    const struct scheduler *s = owner;

    return yields_is_refused(s->yields, pod);
}

static bool
handle_is_evicting(void *owner, const struct pod_view *preemptor)
{
    const struct scheduler *s = owner;

    return evictions_has_preemptor(s->evictions, preemptor)
           || yields_has_preemptor(s->yields, preemptor);
}

static void
handle_clear_nomination(void *owner, struct pod_view *pod)
{
    struct scheduler *s = owner;

    pod_placer_end_nomination(s->pod_placer, pod, NULL);
    recorder_nominate(s->recorder, pod, "");
}

/* Only the cycle of an assignment comes to PostFilter. */
static enum verdict
handle_propose(void *owner, struct cycle *c, struct proposals *proposals)
{
    struct scheduler *s = owner;
    struct assignment *a = container_of(c, struct assignment, cycle);
    const struct proposals *left =
        a->extender_results != NULL ? extender_results_proposals(a->extender_results) : NULL;

    if (!extender_rounds_concern_preemption(s->extender_rounds, c->pod))
        return VERDICT_SKIP;
    if (left == NULL) {
        extender_rounds_ask_preemption(s->extender_rounds, a, proposals);
        return VERDICT_WAIT;
    }
    proposals_fini(proposals);
    for (unsigned i = 0; i < left->count; i++)
        proposals_add(proposals, left->items[i].node_name, left->items[i].pods,
                      left->items[i].count, left->items[i].violations);
    return VERDICT_OK;
}

static const struct profile *
handle_profile(void *owner, const struct pod_view *pod)
{
    return scheduler_profile(owner, pod->object);
}

static void
plugin_took(void *context, const char *plugin, enum point point, enum verdict verdict,
            int64_t took_us)
{
    const struct scheduler *s = context;

    scheduler_metrics_plugin(s->metrics, plugin, point_label(point), verdict, took_us);
}

static void
hint_took(void *context, const char *plugin, const char *event, bool is_helping, int64_t took_us)
{
    const struct scheduler *s = context;

    scheduler_metrics_hint(s->metrics, plugin, event, is_helping, took_us);
}

static struct node_view *
find_node(void *context, const char *name)
{
    const struct scheduler *s = context;

    return cache_find_node(s->cache, name);
}

void
scheduler_make_handle(struct scheduler *s)
{
    const struct scheduler_settings *set = &s->settings;

    s->probe = (struct probe){
        .took = plugin_took,
        .hint_took = set->metrics != NULL ? hint_took : NULL,
        .context = s,
    };
    s->handle = (struct handle){
        .probe = &s->probe,
        .resources = s->resources,
        .reasons = s->reasons,
        .clock = s->settings.clock,
        .random = &s->random,
        .nominator = nominator_new(),
        .volumes = volume_book_new(),
        .timeline = timeline_new(s->settings.clock),
        .node_reservations = node_reservations_new(find_node, s),
        .owner = s,
        .find = handle_find,
        .visit = handle_visit,
        .refuse = set->refuse,
        .refuse_context = set->refuse_context,
        .hold = handle_hold,
        .bind_volumes = handle_bind_volumes,
        .bind = handle_bind,
        .allow = handle_allow,
        .reject = handle_reject,
        .visit_waiting = host_visit_waiting,
        .resume = handle_resume,
        .evict = handle_evict,
        .is_of_gang = handle_is_of_gang,
        .visit_gang = handle_visit_gang,
        .refuses_to_yield = handle_refuses_to_yield,
        .is_evicting = handle_is_evicting,
        .propose = set->extenders != NULL && set->extenders->count > 0 ? handle_propose : NULL,
        .clear_nomination = handle_clear_nomination,
        .profile = handle_profile,
    };
}
