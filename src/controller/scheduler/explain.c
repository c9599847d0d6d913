/* SPDX-License-Identifier: Apache-2.0 */
/* Why a pod waits: the current state of the queue, the filters and the nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explanation.h"
#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/order/pod_ranks.h"
#include "controller/scheduler/partition_terms.h"
#include "controller/scheduler/placing/group_placer.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/start_forecast.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Texts are cut to this length; an answer has only a few of them. */
#define TEXT_MAX 1024

struct json *
explanation_text(struct arena *arena, const char *text, size_t length)
{
    return json_string_n(arena, text, length < TEXT_MAX ? length : TEXT_MAX);
}

/* Sets the cause unless there is one: the first is the dominant one. */
static void
set_cause_n(struct explanation *e, const char *code, const char *text, size_t length)
{
    struct json *cause;

    if (json_get(e->answer, "cause") != NULL)
        return;
    cause = json_make_object(e->arena, e->answer, "cause");
    json_set_string(e->arena, cause, "code", code);
    json_set(e->arena, cause, "message", explanation_text(e->arena, text, length));
}

static void
set_cause(struct explanation *e, const char *code, const char *text)
{
    set_cause_n(e, code, text, strlen(text));
}

static void
set_state(struct explanation *e, const char *state)
{
    json_set_string(e->arena, e->answer, "state", state);
}

/* ---- The reasons of the filters ---- */

static void
add_reasons(struct explanation *e, const struct refusals *all)
{
    struct json *reasons = json_array(e->arena);

    for (unsigned i = 0; i < all->count; i++) {
        const struct refusal *r = &all->items[i];
        struct json *reason = json_object(e->arena);

        json_set_int(e->arena, reason, "nodes", r->nodes > 0 ? r->nodes : all->total);
        json_set_string(e->arena, reason, "code", r->code);
        json_set(e->arena, reason, "message", explanation_text(e->arena, r->text, r->length));
        json_set_bool(e->arena, reason, "mayPass", r->may_pass);
        json_append(e->arena, reasons, reason);
    }
    json_set(e->arena, e->answer, "reasons", reasons);
}

/* The first reason is the cause: reasons that time may change come first, then
 * those of more nodes.
 */
static void
add_diagnosis(struct explanation *e)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct refusals all;

    diagnosis_format(e->diagnosis, e->s->reasons, &text);
    if (!refusals_parse(text.text, &all) || all.count == 0) {
        set_cause(e,
                  e->s->snapshot.n_nodes == 0 ? REASON_NO_NODES : job_reason_name(JOB_REASON_OTHER),
                  text.text);
        return;
    }
    json_set_int(e->arena, e->answer, "nodes", all.total);
    set_cause_n(e, all.items[0].code, all.items[0].text, all.items[0].length);
    add_reasons(e, &all);
}

/* ---- The filters now ---- */

static void
add_fit(struct explanation *e, const struct node_view *node)
{
    struct node_finder_facts facts = node_finder_facts(e->s->node_finder);
    bool asks = e->s->extender_rounds != NULL
                && extender_rounds_concern_nodes(e->s->extender_rounds, e->pod);

    e->estimate = (struct start_estimate){.chance = START_NOW, .node = node};
    e->estimate.counts[START_NOW] = facts.feasible;
    e->is_at_least = facts.by_bounds;
    set_cause(e, REASON_FITS,
              arena_printf(e->arena, "it would fit on node '%s' now%s", node->name,
                           asks ? ", if the extenders agree" : ""));
    json_set_int(e->arena, e->answer, "nodes", e->s->snapshot.n_nodes);
    explanation_add_start(e);
}

/* The pod fits on some node, but the plugins were not asked about its scratch:
 * finds a node that has the scratch, too. NULL: the estimate says what is
 * missing.
 */
static struct node_view *
find_with_scratch(struct explanation *e)
{
    const struct snapshot *s = &e->s->snapshot;
    unsigned trials = 0;

    e->estimate = (struct start_estimate){0};
    for (uint32_t i = 0; i < s->n_nodes && trials < ESTIMATE_TRIALS; i++) {
        struct node_view *node = s->nodes[i];
        const struct node_view *view = node;
        struct answer answer = ANSWER_OK;
        enum start_chance chance =
            shortage_is_of_size(&e->shortage, node) ? START_NEVER : START_LATER;

        if (shortage_has_scratch(&e->shortage, node)) {
            trials++;
            profile_filter(e->profile, e->profile->filters, &e->cycle, &view, 1, &answer);
            if (answer.verdict == VERDICT_OK)
                return node;
            continue;
        }
        e->estimate.counts[chance]++;
        if (e->estimate.node != NULL && chance <= e->estimate.chance)
            continue;
        e->estimate.node = node;
        e->estimate.chance = chance;
    }
    e->is_without_scratch = true;
    set_cause(e, REASON_NO_STORAGE, "no node that has room for it has enough scratch");
    return NULL;
}

/* A profile that makes no reservations has no forecast: then it is known only
 * when the pod could start if it were alone.
 */
static void
find_forecast(struct explanation *e)
{
    if (e->estimate.chance != START_LATER)
        return;
    if (e->profile->timed != 0)
        e->forecast = start_forecast_find(e->s->forecast, e->pod, e->queued);
    else
        e->forecast = (struct start_time){
            .from_us = e->estimate.from_us,
            .is_assumed = e->estimate.is_assumed,
        };
}

/* Runs the filters as a cycle would now. If the profile filters only a sample
 * of the nodes, this is the sample of the next cycle.
 */
static void
explain_now(struct explanation *e)
{
    struct scheduler *s = e->s;
    struct node_finder_place place = node_finder_place(s->node_finder);
    struct node_view *node;

    s->probe.is_on = false;
    cycle_trace_begin(&s->trace, s->settings.clock); /* not read by anyone */
    group_placer_close_nodes(s->group_placer, e->pod);
    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_init(&e->cycle, e->pod, &s->snapshot);
    planner_bind(s->planner, e->queued);
    group_placer_limit_to_domain(s->group_placer, &e->cycle);
    node = node_finder_find(s->node_finder, e->profile, &e->cycle, NULL);
    node_finder_set_place(s->node_finder, place);
    e->diagnosis = node_finder_diagnosis(s->node_finder);
    if (node != NULL && e->is_stripped)
        node = find_with_scratch(e);
    if (node != NULL)
        add_fit(e, node);
    else if (e->is_without_scratch) {
        explanation_add_needs(e);
        explanation_add_start(e);
    } else {
        add_diagnosis(e);
        if (e->diagnosis->prefilter_reason == STRING_ID_NONE) {
            start_estimate_make(&e->estimate, &e->shortage, e->diagnosis, s->cache,
                                s->settings.clock);
            find_forecast(e);
            explanation_add_nodes(e);
            explanation_add_start(e);
            explanation_add_smaller(e);
        }
    }
    cycle_fini(&e->cycle);
    cache_open_nodes(s->cache);
}

/* ---- The queue ---- */

static const char *
queue_name(const struct queued_pod *queued)
{
    static const char *const names[] = {
        [QUEUE_ACTIVE] = "Active",
        [QUEUE_BACKOFF] = "Backoff",
        [QUEUE_UNSCHEDULABLE] = "Unschedulable",
        [QUEUE_GATED] = "Gated",
        [QUEUE_IN_FLIGHT] = "InFlight",
        [QUEUE_IN_GROUP] = "InGroup",
    };

    return names[queued->state];
}

static void
add_queue(struct explanation *e)
{
    struct queue_counts counts = queue_count(e->s->queue);
    struct json *waiting = json_object(e->arena);
    size_t before;

    if (e->queued != NULL) {
        json_set_string(e->arena, e->answer, "queue", queue_name(e->queued));
        json_set_int(e->arena, e->answer, "attempts", e->queued->attempts);
    }
    json_set_int(e->arena, waiting, "active", (int64_t)counts.active);
    json_set_int(e->arena, waiting, "backoff", (int64_t)counts.backoff);
    json_set_int(e->arena, waiting, "unschedulable", (int64_t)counts.unschedulable);
    json_set_int(e->arena, waiting, "gated", (int64_t)counts.gated);
    if (queue_count_before(e->s->queue, e->pod, e->profile, &before))
        json_set_int(e->arena, waiting, "before", (int64_t)before);
    json_set(e->arena, e->answer, "waiting", waiting);
}

/* The policy that orders the queue, and the facts that it uses if it does not
 * sort by submission alone.
 */
static void
add_order(struct explanation *e)
{
    bool is_guarded = false;
    double predicted_s = e->queued != NULL && e->s->pod_ranks != NULL
                             ? pod_ranks_predict_s(e->s->pod_ranks, e->queued, &is_guarded)
                             : 0;
    struct json *order = json_make_object(e->arena, e->answer, "order");

    profile_foreach(i, e->profile, POINT_QUEUE_SORT)
        json_set_string(e->arena, order, "policy", e->profile->entries[i].plugin->name);
    if (predicted_s <= 0)
        return;
    json_set_int(e->arena, order, "predictedSeconds", (int64_t)predicted_s);
    json_set_bool(e->arena, order, "waitedTooLong", is_guarded);
}

static void
explain_gate(struct explanation *e)
{
    const char *why = e->queued->gate_reason != STRING_ID_NONE
                          ? string_ids_text(e->s->reasons, e->queued->gate_reason)
                          : "the pod is gated";

    set_cause(e, REASON_SCHEDULING_GATED, why);
}

/* The filters for one member by itself would give a misleading answer. */
static void
explain_group(struct explanation *e)
{
    const struct queued_group *g = e->queued->queued_group;
    const char *said = recorder_message(e->s->recorder, e->queued->pod);
    const struct reserved_place *place;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (queued_group_is_held(g))
        queued_group_format_hold(g, &words);
    else if (said != NULL)
        strbuf_add_text(&words, said);
    else
        strbuf_printf(&words,
                      "it is placed together with the %u other pod%s of its group '%s', or not at "
                      "all",
                      g->count - 1, g->count == 2 ? "" : "s", g->name);
    set_cause_n(e, REASON_GROUP, words.text, words.length);
    place = planner_find_place(e->s->planner, e->queued, e->pod);
    e->estimate.chance = START_LATER;
    if (place != NULL) {
        e->estimate.from_us = place->reservation->from_us;
        e->estimate.node = place->node;
    }
    if (!queued_group_is_held(g))
        find_forecast(e);
    if (place != NULL || e->forecast.from_us > 0)
        explanation_add_group_start(e, place != NULL ? place->reservation : NULL);
}

static void
explain_pod(struct explanation *e)
{
    const char *nominated = nominator_node(e->s->handle.nominator, e->pod);

    add_queue(e);
    add_order(e);
    if (cache_is_assumed(e->s->cache, e->pod)) {
        set_state(e, "Binding");
        set_cause(e, REASON_BINDING, "it is being bound to its node");
        return;
    }
    set_state(e, "Waiting");
    if (scheduler_is_paused(e->s)) {
        set_cause(e, REASON_SCHEDULING_PAUSED,
                  "the administrators have paused scheduling: no job starts until they resume it");
        return;
    }
    if (nominated != NULL)
        json_set_string(e->arena, e->answer, "nominatedNode", nominated);
    if (e->queued != NULL && e->queued->state == QUEUE_GATED)
        explain_gate(e);
    if (e->queued != NULL && e->queued->queued_group != NULL)
        explain_group(e);
    else if (e->gang_size > 1)
        explanation_add_gang(e, e->gang_size);
    else
        explain_now(e);
}

static void
explain_no_scheduler(struct explanation *e, const char *scheduler_name)
{
    const char *words = arena_printf(e->arena,
                                     "no scheduler named '%s' has looked at "
                                     "it yet",
                                     scheduler_name);

    set_state(e, "Waiting");
    set_cause(e, REASON_NO_SCHEDULER, words);
}

/* The pod without its ephemeral claims, which are created only with the pod;
 * its scratch is checked by itself.
 */
static const struct object *
strip_claims(const struct object *pod, struct arena *arena)
{
    struct json *tree = object_tree(pod, arena);
    struct json *volumes = json_get_path(tree, "spec.volumes");

    for (uint32_t i = json_count(volumes); i-- > 0;)
        if (json_get(json_at(volumes, i), "ephemeral") != NULL)
            json_remove_at(volumes, i);
    return object_new(pod->kind, tree);
}

/* How many such pods its job is going to have at the same time. */
static unsigned
gang_size_of(const struct object *pod)
{
    const char *text = string_map_find(&pod->meta->annotations, ANNOTATION_GANG_SIZE);
    const long size = text != NULL ? strtol(text, NULL, 10) : 0;

    return size > 1 && size <= QUEUED_GROUP_MAX ? (unsigned)size : 0;
}

static void
open_pod(struct explanation *e, const struct object *pod, bool is_hypothetical)
{
    CLEANUP(object_unrefp) const struct object *stripped = NULL;

    if (is_hypothetical)
        e->gang_size = gang_size_of(pod);
    if (!is_hypothetical)
        e->queued = queue_find(e->s->queue, pod->meta->namespace, pod->meta->name);
    else if (pod_spec_scratch_bytes(&pod_of(pod)->spec) > 0)
        stripped = strip_claims(pod, e->arena);
    e->is_stripped = stripped != NULL;
    e->pod = e->queued != NULL
                 ? pod_view_ref(e->queued->pod)
                 : partition_terms_view(e->s->partition_terms, stripped != NULL ? stripped : pod);
    e->shortage = (struct shortage){
        .profile = e->profile,
        .cycle = &e->cycle,
        .resources = e->s->resources,
        .volumes = e->s->handle.volumes,
        .scratch_bytes = pod_spec_scratch_bytes(&pod_of(pod)->spec),
    };
    e->closers = start_estimate_closers(&e->shortage);
}

/* All pods of a Job have one template, so the first stands for all that wait.
 * NULL: none waits here.
 */
static const struct object *
find_first_pod(struct explanation *e, const struct object *job)
{
    const struct pod_spec *spec = job_of(job)->spec.template_.spec;
    const char *scheduler_name = spec != NULL ? spec->scheduler_name : NULL;
    struct json *pods = json_make_object(e->arena, e->answer, "pods");
    size_t count;
    const struct queued_pod *first = queue_find_of_job(e->s->queue, job->meta->uid, &count);

    json_set_int(e->arena, pods, "waiting", (int64_t)count);
    if (first != NULL) {
        json_set_string(e->arena, e->answer, "pod", first->pod->name);
        return first->pod->object;
    }
    if (scheduler_profile_named(e->s, scheduler_name) == NULL)
        explain_no_scheduler(e, scheduler_name);
    return NULL;
}

struct json *
scheduler_explain(struct scheduler *s, const struct object *object, bool is_hypothetical,
                  struct arena *arena)
{
    struct explanation e = {
        .s = s,
        .of = {.handle = &s->handle,
               .queue = s->queue,
               .cache = s->cache,
               .snapshot = &s->snapshot,
               .node_finder = s->node_finder,
               .planner = s->planner,
               .partition_terms = s->partition_terms,
               .has_extenders = s->extender_rounds != NULL},
        .arena = arena,
        .answer = json_object(arena),
    };
    const struct object *pod = object;

    if (object->kind == &job_kind)
        pod = find_first_pod(&e, object);
    if (pod == NULL)
        return e.answer;
    e.profile = scheduler_profile(s, pod);
    if (e.profile == NULL) {
        explain_no_scheduler(&e, pod_of(pod)->spec.scheduler_name);
        return e.answer;
    }
    open_pod(&e, pod, is_hypothetical);
    explain_pod(&e);
    pod_view_unref(e.pod);
    return e.answer;
}
