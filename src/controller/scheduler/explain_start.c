/* SPDX-License-Identifier: Apache-2.0 */
/* The text that says when a waiting pod could start. */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/earliest_start.h"
#include "controller/scheduler/explanation.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/taints.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/planning/reservation_plan.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* The plan of a gang may ask about each node once. */
#define GANG_TRIALS 4096u
#define GANG_US     20000
#define NODES_TOLD  200 /* bytes of a list of nodes */

static void
add_closed(const struct explanation *e, const struct node_view *node, struct strbuf *out)
{
    const struct taint *taint = taints_find_untolerated(&node->node->spec, &e->pod->pod->spec);

    if (!node_is_ready(node->node))
        strbuf_add_text(out, "is not ready");
    else if (node->is_unschedulable)
        strbuf_add_text(out, "is cordoned");
    else if (taint != NULL)
        strbuf_printf(out, "has the taint %.80s", taint->key);
}

/* The node does not match what the pod asks for. */
static void
add_unwanted(const struct explanation *e, const struct node_view *node, struct strbuf *out)
{
    const struct pod_spec *spec = &e->pod->pod->spec;
    uint32_t reason = diagnosis_answer(e->diagnosis, node).reason;

    for (unsigned i = 0; i < spec->node_selector.count; i++) {
        const char *key = spec->node_selector.items[i].key;
        const char *wanted = spec->node_selector.items[i].value;
        const char *has = string_map_find(&node->node->meta.labels, key);

        if (has != NULL && strcmp(has, wanted) == 0)
            continue;
        strbuf_printf(out, "is not %.60s=%.60s", key, wanted);
        return;
    }
    if (reason != STRING_ID_NONE) {
        const char *text = string_ids_text(e->of.handle->reasons, reason);

        strbuf_add_text(out, strncmp(text, "node(s) ", 8) == 0 ? text + 8 : text);
    } else
        strbuf_add_text(out, "is not one of the nodes that are asked for");
}

static void
add_node(const struct explanation *e, const struct node_view *node, struct strbuf *out)
{
    size_t before = out->length;

    if (e->estimate.chance == START_BLOCKED)
        add_closed(e, node, out);
    else if (e->is_without_scratch || shortage_is_of_hardware(&e->shortage, node)
             || start_estimate_is_open(&e->closers, &e->shortage, e->diagnosis, node))
        shortage_format(&e->shortage, node, out);
    if (out->length == before)
        add_unwanted(e, node, out);
}

/* A sentence in two parts: when the pod may start, and what the nearest node
 * lacks. The second part is not in the outlook if the answer has it elsewhere.
 */
struct start_words {
    struct strbuf head, tail;
};

/* Times that differ by less than this are reported as one. */
#define TOLD_APART_US (INT64_C(60) * 1000000)

static bool
is_behind(const struct explanation *e)
{
    return e->forecast.from_us > e->estimate.from_us + TOLD_APART_US;
}

/* Jobs are predicted to end before their time limits. */
static bool
is_before_limits(const struct explanation *e)
{
    return e->forecast.from_us > 0 && e->forecast.from_us < e->estimate.from_us - TOLD_APART_US;
}

static bool
is_other_by_limits(const struct explanation *e)
{
    return e->forecast.from_us > 0
           && llabs(e->forecast.by_limits_us - e->forecast.from_us) > TOLD_APART_US
           && e->forecast.by_limits_us > 0;
}

static void
add_limits(const struct explanation *e, struct start_words *out)
{
    char time[TIME_TEXT_SIZE];

    if (!is_other_by_limits(e))
        return;
    time_format(e->forecast.by_limits_us, false, time);
    strbuf_printf(&out->head, ", or about %s if all jobs use up their time limits", time);
}

/* The pod would start sooner without the pods before it. */
static void
add_forecast(const struct explanation *e, const char *words, struct start_words *out)
{
    const struct start_estimate *t = &e->estimate;
    char time[TIME_TEXT_SIZE];
    size_t before = 0;

    time_format(e->forecast.from_us, false, time);
    strbuf_printf(&out->head, "it may start about %s, after ", time);
    queue_count_before(e->of.queue, e->pod, e->profile, &before);
    if (before > 1)
        strbuf_printf(&out->head, "the %zu pods before it in the queue", before);
    else
        strbuf_add_text(&out->head,
                        before == 1 ? "the pod before it in the queue" : "those before it");
    add_limits(e, out);
    if (t->from_us > 0 && t->node != NULL) {
        time_format(t->from_us, false, time);
        strbuf_printf(&out->head, "; without them it could at %s, on %s", time, t->node->name);
        strbuf_printf(&out->tail, ", which %s", words);
    }
}

static const char *
nodes_of(const struct explanation *e)
{
    return e->nodes != NULL ? e->nodes : e->estimate.node->name;
}

static void
add_later(const struct explanation *e, const char *words, struct start_words *out)
{
    const struct start_estimate *t = &e->estimate;
    char time[TIME_TEXT_SIZE];

    if (is_behind(e)) {
        add_forecast(e, words, out);
        return;
    }
    if (is_before_limits(e)) {
        time_format(e->forecast.from_us, false, time);
        strbuf_printf(&out->head, "it may start about %s, by how long earlier jobs ran", time);
        add_limits(e, out);
        strbuf_printf(&out->head, ", on %s", nodes_of(e));
        strbuf_printf(&out->tail, ", which %s", words);
        return;
    }
    if (t->from_us > 0) {
        time_format(e->forecast.from_us > 0 ? e->forecast.from_us : t->from_us, false, time);
        strbuf_printf(&out->head,
                      t->is_assumed ? "it may start about %s, if jobs without a time limit end by "
                                      "then, on %s"
                                    : "it could start at %s at the earliest, on %s",
                      time, nodes_of(e));
        strbuf_printf(&out->tail, ", which %s", words);
        return;
    }
    if (t->not_before_us > 0) {
        time_format(t->not_before_us, false, time);
        strbuf_printf(&out->head,
                      "no node has room before %s, and nothing is known about "
                      "later times",
                      time);
    } else
        strbuf_add_text(&out->head, "no node has room, and the end of the jobs there is "
                                    "unknown");
    strbuf_printf(&out->tail, "; the nearest, %s, %s", t->node->name, words);
}

static void
add_start(const struct explanation *e, const char *words, struct start_words *out)
{
    const struct start_estimate *t = &e->estimate;

    if (t->node == NULL) {
        strbuf_add_text(&out->head, "there are no nodes");
        return;
    }
    switch (t->chance) {
    case START_NOW:
        strbuf_printf(&out->head, "it could start now, on %s (%s%u of %u nodes have room)",
                      t->node->name, e->is_at_least ? "at least " : "", t->counts[START_NOW],
                      e->of.snapshot->n_nodes);
        break;
    case START_LATER:
        add_later(e, words, out);
        break;
    case START_BLOCKED:
        strbuf_add_text(&out->head, "no node that could run it takes jobs");
        strbuf_printf(&out->tail, ": %s %s", t->node->name, words);
        break;
    case START_NEVER:
        strbuf_add_text(&out->head, "no node can ever run it");
        strbuf_printf(&out->tail, "; the nearest, %s, %s", t->node->name, words);
        break;
    }
}

static void
add_deadline(const struct explanation *e, struct strbuf *out)
{
    char time[TIME_TEXT_SIZE];

    int64_t from_us = e->forecast.from_us > 0 ? e->forecast.from_us : e->estimate.from_us;

    if (e->estimate.chance < START_LATER || from_us == 0 || pod_view_is_in_time(e->pod, from_us))
        return;
    time_format(e->pod->deadline_us, false, time);
    strbuf_printf(out,
                  "; that is too late to end before its deadline, %s, so no "
                  "reservation is made",
                  time);
}

/* Whether the answer has these words already, for that node or as a reason of
 * many nodes.
 */
static bool
answer_has_words(const struct explanation *e, const char *words)
{
    const struct json *nearest = json_get(e->answer, "nearest");
    const struct json *reasons = json_get(e->answer, "reasons");

    if (e->estimate.node == NULL)
        return false;
    for (uint32_t i = 0; i < json_count(nearest); i++)
        if (strcmp(json_get_text(json_at(nearest, i), "node"), e->estimate.node->name) == 0)
            return true;
    for (uint32_t i = 0; i < json_count(reasons); i++)
        if (strstr(json_get_text(json_at(reasons, i), "message"), words) != NULL)
            return true;
    return e->estimate.chance == START_BLOCKED && json_count(reasons) > 0;
}

static void
add_time(struct explanation *e, struct json *start, const char *name, int64_t at_us)
{
    char time[TIME_TEXT_SIZE];

    if (at_us == 0)
        return;
    time_format(at_us, false, time);
    json_set_string(e->arena, start, name, time);
}

/* A pod that does not exist has no place in the queue, and a forecast with it may
 * take too long: then the answer must not be taken for one.
 */
static void
add_unconsidered(const struct explanation *e, struct strbuf *out)
{
    const struct queue_counts counts = queue_count(e->of.queue);
    const size_t waiting = counts.active + counts.backoff + counts.unschedulable;

    if (e->queued != NULL || e->estimate.chance != START_LATER || e->forecast.from_us > 0
        || waiting == 0)
        return;
    strbuf_printf(out, "; that leaves out %zu waiting job%s, which may go first", waiting,
                  waiting == 1 ? "" : "s");
}

static void
set_words(const struct explanation *e, struct json *start, const char *name,
          const struct start_words *said, const char *tail, const char *behind)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text, "%s%s%s", said->head.text, tail, behind);
    json_set(e->arena, start, name, explanation_text(e->arena, text.text, text.length));
}

/* `from` is absent if the forecast does not reach as far as this pod. */
static void
add_times(struct explanation *e, struct json *start)
{
    add_time(e, start, "from", e->forecast.from_us);
    if (is_behind(e) || e->forecast.from_us == 0)
        add_time(e, start, "earliest", e->estimate.from_us);
    if (is_other_by_limits(e))
        add_time(e, start, "byLimits", e->forecast.by_limits_us);
    if (e->forecast.from_us > 0 ? e->forecast.is_assumed : e->estimate.is_assumed)
        json_set_bool(e->arena, start, "assumed", true);
}

void
explanation_add_start(struct explanation *e)
{
    static const char *const chances[] = {
        [START_NEVER] = "Never",
        [START_BLOCKED] = "Blocked",
        [START_LATER] = "Later",
        [START_NOW] = "Now",
    };
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT, behind = STRBUF_INIT;
    struct start_words said = {STRBUF_INIT, STRBUF_INIT};
    struct json *start = json_make_object(e->arena, e->answer, "start");
    struct json *nodes = json_object(e->arena);
    size_t before = 0;

    json_set_string(e->arena, start, "chance", chances[e->estimate.chance]);
    add_times(e, start);
    add_time(e, start, "notBefore", e->estimate.not_before_us);
    if (e->estimate.node != NULL)
        json_set_string(e->arena, start, "node", e->estimate.node->name);
    for (unsigned i = 0; i < ARRAY_SIZE(chances); i++)
        json_set_int(e->arena, nodes, chances[i], e->estimate.counts[i]);
    json_set(e->arena, start, "nodes", nodes);
    json_set_int(e->arena, start, "ends", e->estimate.ends);
    json_set_int(e->arena, start, "trials", e->estimate.trials);
    if (e->estimate.node != NULL && e->estimate.chance != START_NOW)
        add_node(e, e->estimate.node, &words);
    add_start(e, words.text, &said);
    add_deadline(e, &behind);
    queue_count_before(e->of.queue, e->pod, e->profile, &before);
    if (e->estimate.chance > START_BLOCKED && before > 0 && !is_behind(e))
        strbuf_printf(&behind, "; %zu pod%s %s before it in the queue", before,
                      before == 1 ? "" : "s", before == 1 ? "is" : "are");
    else
        add_unconsidered(e, &behind);
    set_words(e, start, "message", &said, said.tail.text, behind.text);
    set_words(e, start, "outlook", &said, answer_has_words(e, words.text) ? "" : said.tail.text,
              behind.text);
    strbuf_fini(&said.head);
    strbuf_fini(&said.tail);
}

static void
list_places(const struct reservation *r, struct strbuf *out)
{
    CLEANUP_FREE const char **names = xnew_array(const char *, r->count);
    size_t n = 0;

    for (unsigned i = 0; i < r->count; i++)
        if (r->places[i].node != NULL)
            names[n++] = r->places[i].node->name;
    hostlist_format(names, n, NODES_TOLD, out);
}

void
explanation_add_group_start(struct explanation *e, const struct reservation *r)
{
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;
    struct json *start = json_make_object(e->arena, e->answer, "start");
    struct start_words said = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP_STRBUF struct strbuf behind = STRBUF_INIT;

    json_set_string(e->arena, start, "chance", "Later");
    add_times(e, start);
    if (r != NULL && r->places != NULL) {
        list_places(r, &nodes);
        e->nodes = arena_strdup(e->arena, nodes.text);
    }
    if (e->estimate.node != NULL)
        json_set_string(e->arena, start, "node", nodes_of(e));
    add_later(e, "", &said);
    add_deadline(e, &behind);
    set_words(e, start, "message", &said, "", behind.text);
    set_words(e, start, "outlook", &said, "", behind.text);
    strbuf_fini(&said.head);
    strbuf_fini(&said.tail);
}

/* ---- Jobs of several nodes that do not exist yet ---- */

/* Every node is asked, because the plan takes any number of them. */
static void
filter_all(const struct explanation *e, struct cycle *cycle, struct answer *answers)
{
    const struct snapshot *snapshot = e->of.snapshot;
    struct prefilter_result named;
    plugin_set narrowers;
    const struct answer answer = profile_prefilter(e->profile, cycle, &named, &narrowers);

    for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
        const struct node_view *node = snapshot->nodes[i];
        struct answer *a = &answers[node->slot];
        bool is_named = !named.has_names;

        for (unsigned k = 0; named.has_names && k < named.count && !is_named; k++)
            is_named = strcmp(named.names[k], node->name) == 0;
        *a = answer;
        if (answer.verdict == VERDICT_OK && !is_named)
            *a = (struct answer){.verdict = VERDICT_NEVER, .plugin = PLUGIN_NONE};
        else if (answer.verdict == VERDICT_OK)
            profile_filter(e->profile, e->profile->filters, cycle, &node, 1, a);
    }
    free((void *)named.names);
}

static void
plan_gang(const struct explanation *e, struct reservation *r, struct start_answer *ret)
{
    const struct explanation_sources *of = &e->of;
    const struct timeline *t = of->handle->timeline;
    CLEANUP_FREE struct answer *answers = NULL;
    struct diagnosis d = {
        .snapshot = of->snapshot, .absent = ANSWER_OK, .prefilter_reason = STRING_ID_NONE};
    struct cycle cycle;

    cache_update_snapshot(of->cache, of->snapshot);
    planner_bind(of->planner, NULL);
    answers = xnew_array(struct answer, of->snapshot->n_slots + 1);
    cycle_init(&cycle, e->pod, of->snapshot);
    filter_all(e, &cycle, answers);
    cycle_fini(&cycle);
    d.answers = answers;
    reservation_plan_set_domains(
        planner_parts(of->planner), r,
        string_map_find(&e->pod->object->meta->annotations, ANNOTATION_GANG_TOPOLOGY));
    reservation_plan_set_nodes(planner_parts(of->planner), &d, r);
    timeline_init_cycle(&cycle, e->profile, e->pod, of->snapshot);
    earliest_start_find(
        &(struct start_question){.what_if = {.timeline = t,
                                             .profile = e->profile,
                                             .filters = e->profile->rooms,
                                             .cycle = &cycle,
                                             .n_binding = t != NULL ? timeline_binding(t) : 0,
                                             .now_us = clock_real_us(of->handle->clock)},
                                 .cache = of->cache,
                                 .node_reservations = of->handle->node_reservations,
                                 .snapshot = of->snapshot,
                                 .may_come = r->may_come,
                                 .n_slots = r->n_slots,
                                 .domain_of = r->domain_of,
                                 .n_domains = r->n_domains,
                                 .count = r->count,
                                 .is_one_per_node = true,
                                 .most_ends = ESTIMATE_ENDS,
                                 .most_trials = GANG_TRIALS,
                                 .clock = of->handle->clock,
                                 .work_until_us = clock_monotonic_us(of->handle->clock) + GANG_US},
        ret);
    cycle_fini(&cycle);
}

static void
list_nodes(const struct start_answer *a, unsigned count, struct strbuf *out)
{
    CLEANUP_FREE const char **names = xnew_array(const char *, count);

    for (unsigned i = 0; i < count; i++)
        names[i] = a->nodes[i]->name;
    hostlist_format(names, count, NODES_TOLD, out);
}

void
explanation_add_gang(struct explanation *e, unsigned count)
{
    struct pod_view *members[] = {e->pod};
    struct reservation r = {
        .profile = e->profile, .members = members, .count = count, .is_one_per_node = true};
    struct json *start = json_make_object(e->arena, e->answer, "start");
    struct start_words said = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, behind = STRBUF_INIT;
    struct start_answer a = {0};
    char time[TIME_TEXT_SIZE];

    plan_gang(e, &r, &a);
    e->estimate.chance =
        a.from_us > clock_real_us(e->of.handle->clock) || a.from_us == 0 ? START_LATER : START_NOW;
    e->estimate.from_us = e->estimate.chance == START_LATER ? a.from_us : 0;
    if (a.from_us > 0)
        list_nodes(&a, count, &nodes);
    if (e->estimate.chance == START_NOW)
        strbuf_printf(&said.head, "it could start now, on %s", nodes.text);
    else if (a.from_us == 0)
        strbuf_printf(&said.head,
                      "no %u nodes%s have room for it at the same time, and it is not "
                      "known when they will",
                      count, r.domain_of != NULL ? " of one domain of the topology" : "");
    else {
        time_format(a.from_us, false, time);
        strbuf_printf(&said.head, "it could start at %s at the earliest, on %s", time, nodes.text);
    }
    json_set_string(e->arena, start, "chance", e->estimate.chance == START_NOW ? "Now" : "Later");
    add_time(e, start, "from", e->estimate.from_us);
    if (nodes.length > 0)
        json_set(e->arena, start, "node", explanation_text(e->arena, nodes.text, nodes.length));
    add_deadline(e, &behind);
    add_unconsidered(e, &behind);
    set_words(e, start, "message", &said, "", behind.text);
    set_words(e, start, "outlook", &said, "", behind.text);
    strbuf_fini(&said.head);
    strbuf_fini(&said.tail);
    start_answer_fini(&a);
    free(r.may_come);
    free(r.domain_of);
}
