/* SPDX-License-Identifier: Apache-2.0 */
/* Why a pod waits: what the queue, the filters and the nodes say of it now. */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/explain/start_estimate.h"
#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/taints.h"
#include "controller/scheduler/order/pod_ranks.h"
#include "controller/scheduler/queue/pod_group.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/job/job.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define NEAREST 3

/* No text of an answer is longer: there are few of them. */
#define TEXT_MAX 1024

struct explanation {
    struct scheduler *s;
    struct arena *arena;
    struct json *answer;
    struct pod_view *pod;
    const struct queued_pod *queued; /* NULL: not in the queue */
    struct profile *profile;
    struct cycle cycle;
    const struct diagnosis *diagnosis;
    struct shortage shortage;
    struct closers closers;
    struct start_estimate estimate;
    bool is_stripped;        /* of the claims that it brings */
    bool is_without_scratch; /* it fits, but for scratch */
    bool is_at_least;        /* more nodes may have room than were counted */
};

static struct json *
text_of(struct arena *arena, const char *text, size_t length)
{
    return json_string_n(arena, text, length < TEXT_MAX ? length : TEXT_MAX);
}

/* The first cause is the dominant one. */
static void
set_cause_n(struct explanation *e,
            const char *code,
            const char *text,
            size_t length)
{
    struct json *cause;

    if (json_get(e->answer, "cause") != NULL)
        return;
    cause = json_make_object(e->arena, e->answer, "cause");
    json_set_string(e->arena, cause, "code", code);
    json_set(e->arena, cause, "message", text_of(e->arena, text, length));
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

/* ---- What the filters say ---- */

static void
add_reasons(struct explanation *e, const struct refusals *all)
{
    struct json *reasons = json_array(e->arena);

    for (unsigned i = 0; i < all->count; i++) {
        const struct refusal *r = &all->items[i];
        struct json *reason = json_object(e->arena);

        json_set_int(e->arena,
                     reason,
                     "nodes",
                     r->nodes > 0 ? r->nodes : all->total);
        json_set_string(e->arena, reason, "code", r->code);
        json_set(e->arena,
                 reason,
                 "message",
                 text_of(e->arena, r->text, r->length));
        json_set_bool(e->arena, reason, "mayPass", r->may_pass);
        json_append(e->arena, reasons, reason);
    }
    json_set(e->arena, e->answer, "reasons", reasons);
}

/* The reason that matters is the first: time may change it, for most nodes. */
static void
add_diagnosis(struct explanation *e)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct refusals all;

    diagnosis_format(e->diagnosis, e->s->reasons, &text);
    if (!refusals_parse(text.text, &all) || all.count == 0) {
        set_cause(e,
                  e->s->snapshot.n_nodes == 0 ? "NoNodes" : "Other",
                  text.text);
        return;
    }
    json_set_int(e->arena, e->answer, "nodes", all.total);
    set_cause_n(e, all.items[0].code, all.items[0].text, all.items[0].length);
    add_reasons(e, &all);
}

/* ---- Nodes ---- */

/* A node that such pods may come to, by selectors and taints, and that has not
 * enough now.
 */
struct open_node {
    const struct node_view *view;
    int64_t free_mcpu, free_bytes;
};

struct open_nodes {
    struct open_node *items;
    unsigned count;
};

static struct open_nodes
find_open(const struct explanation *e)
{
    const struct snapshot *s = &e->s->snapshot;
    struct open_nodes open = {
        .items = arena_new_array(e->arena, struct open_node, s->n_nodes + 1),
    };

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node_view *v = s->nodes[i];

        if (start_estimate_is_open(&e->closers, &e->shortage, e->diagnosis, v))
            open.items[open.count++] = (struct open_node){
                .view = v,
                .free_mcpu =
                    v->allocatable.cpu_milli - v->ledger.requested.cpu_milli,
                .free_bytes = v->allocatable.memory_bytes
                              - v->ledger.requested.memory_bytes,
            };
    }
    return open;
}

/* The free share of the scarcer amount, CPUs or memory, of what is asked. */
static double
share(const struct explanation *e, const struct open_node *node)
{
    int64_t mcpu = e->pod->requests.cpu_milli;
    int64_t bytes = e->pod->requests.memory_bytes;
    double cpu = mcpu > 0 ? (double)node->free_mcpu / (double)mcpu : 1;
    double memory = bytes > 0 ? (double)node->free_bytes / (double)bytes : 1;

    cpu = cpu > 1 ? 1 : cpu;
    memory = memory > 1 ? 1 : memory;
    return cpu < memory ? cpu : memory;
}

static void
add_node(struct explanation *e,
         struct json *nodes,
         const struct open_node *node)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct json *item = json_object(e->arena);

    shortage_format(&e->shortage, node->view, &words);
    json_set_string(e->arena, item, "node", node->view->name);
    json_set(e->arena,
             item,
             "message",
             text_of(e->arena, words.text, words.length));
    json_set_int(e->arena,
                 item,
                 "freeMilliCPU",
                 node->free_mcpu > 0 ? node->free_mcpu : 0);
    json_set_int(e->arena, item, "milliCPU", node->view->allocatable.cpu_milli);
    json_set_int(e->arena,
                 item,
                 "freeMemory",
                 node->free_bytes > 0 ? node->free_bytes : 0);
    json_set_int(e->arena,
                 item,
                 "memory",
                 node->view->allocatable.memory_bytes);
    json_append(e->arena, nodes, item);
}

/* The nodes with the most of what is asked for. */
static void
add_nearest(struct explanation *e, const struct open_nodes *open)
{
    struct json *nodes = json_array(e->arena);
    const struct open_node *nearest[NEAREST];
    double shares[NEAREST];
    unsigned count = 0;

    for (unsigned i = 0; i < open->count; i++) {
        double has = share(e, &open->items[i]);
        unsigned at = count;

        while (at > 0 && has > shares[at - 1])
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--) {
            nearest[j] = nearest[j - 1];
            shares[j] = shares[j - 1];
        }
        nearest[at] = &open->items[i];
        shares[at] = has;
    }
    for (unsigned i = 0; i < count; i++)
        add_node(e, nodes, nearest[i]);
    if (count > 0)
        json_set(e->arena, e->answer, "nearest", nodes);
}

/* A whole number of what people ask for: never more than there is. */
static int64_t
round_bytes(int64_t bytes)
{
    const int64_t gib = INT64_C(1) << 30, mib = INT64_C(1) << 20;

    return bytes >= 8 * gib ? bytes / gib * gib : bytes / mib * mib;
}

/* The most that one node has free of the one amount, where there is enough of
 * the other; and on how many nodes a pod that asks for that would fit.
 */
static void
add_fit_with(struct explanation *e,
             const struct open_nodes *open,
             struct json *fits,
             bool of_memory)
{
    int64_t mcpu = e->pod->requests.cpu_milli;
    int64_t bytes = e->pod->requests.memory_bytes;
    int64_t best = 0;
    unsigned nodes = 0;
    struct json *fit;

    for (unsigned i = 0; i < open->count; i++) {
        const struct open_node *n = &open->items[i];
        int64_t has =
            of_memory ? round_bytes(n->free_bytes) : n->free_mcpu / 1000 * 1000;

        if ((of_memory ? n->free_mcpu >= mcpu : n->free_bytes >= bytes)
            && has > best)
            best = has;
    }
    if (best == 0 || best >= (of_memory ? bytes : mcpu))
        return;
    for (unsigned i = 0; i < open->count; i++)
        nodes += open->items[i].free_mcpu >= (of_memory ? mcpu : best)
                 && open->items[i].free_bytes >= (of_memory ? best : bytes);
    fit = json_object(e->arena);
    json_set_int(e->arena, fit, "nodes", nodes);
    json_set_int(e->arena, fit, of_memory ? "memory" : "milliCPU", best);
    json_append(e->arena, fits, fit);
}

static void
add_needs(struct explanation *e)
{
    CLEANUP_STRBUF struct strbuf needs = STRBUF_INIT;

    shortage_format_needs(&e->shortage, &needs);
    if (needs.length > 0)
        json_set(e->arena,
                 e->answer,
                 "needs",
                 text_of(e->arena, needs.text, needs.length));
}

static void
add_nodes(struct explanation *e)
{
    struct open_nodes open = find_open(e);
    struct json *fits = json_array(e->arena);
    bool is_plain = shortage_is_plain(&e->shortage);

    add_needs(e);
    json_set_bool(e->arena, e->answer, "isPlain", is_plain);
    add_nearest(e, &open);
    if (!is_plain)
        return;
    add_fit_with(e, &open, fits, true);
    add_fit_with(e, &open, fits, false);
    if (json_count(fits) > 0)
        json_set(e->arena, e->answer, "wouldFit", fits);
}

/* ---- When ---- */

static void
tell_closed(const struct explanation *e,
            const struct node_view *node,
            struct strbuf *out)
{
    const struct taint *taint =
        taints_find_untolerated(&node->node->spec, &e->pod->pod->spec);

    if (!node_is_ready(node->node))
        strbuf_add_text(out, "is not ready");
    else if (node->is_unschedulable)
        strbuf_add_text(out, "is cordoned");
    else if (taint != NULL)
        strbuf_printf(out, "has the taint %.80s", taint->key);
}

/* The node is none that the pod asks for. */
static void
tell_unwanted(const struct explanation *e,
              const struct node_view *node,
              struct strbuf *out)
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
        const char *text = string_ids_text(e->s->reasons, reason);

        strbuf_add_text(out,
                        strncmp(text, "node(s) ", 8) == 0 ? text + 8 : text);
    } else
        strbuf_add_text(out, "is not one of those that are asked for");
}

static void
tell_node(const struct explanation *e,
          const struct node_view *node,
          struct strbuf *out)
{
    size_t before = out->length;

    if (e->estimate.chance == START_BLOCKED)
        tell_closed(e, node, out);
    else if (e->is_without_scratch || shortage_is_of_size(&e->shortage, node)
             || start_estimate_is_open(&e->closers,
                                       &e->shortage,
                                       e->diagnosis,
                                       node))
        shortage_format(&e->shortage, node, out);
    if (out->length == before)
        tell_unwanted(e, node, out);
}

/* A sentence in two parts: what is to be hoped for, and what the nearest node
 * lacks. The second is none of the outlook where the answer has it elsewhere.
 */
struct start_words {
    struct strbuf head, tail;
};

static void
tell_later(const struct explanation *e,
           const char *words,
           struct start_words *out)
{
    const struct start_estimate *t = &e->estimate;
    char time[TIME_TEXT_SIZE];

    if (t->from_us > 0) {
        time_format(t->from_us, false, time);
        strbuf_printf(&out->head,
                      "it could start at %s at the earliest, on %s",
                      time,
                      t->node->name);
        strbuf_printf(&out->tail, ", which %s", words);
        return;
    }
    if (t->not_before_us > 0) {
        time_format(t->not_before_us, false, time);
        strbuf_printf(&out->head,
                      "no node has room before %s, and nothing is known "
                      "beyond",
                      time);
    } else
        strbuf_add_text(&out->head,
                        "no node has room, and what runs there has no time "
                        "limit");
    strbuf_printf(&out->tail, "; the nearest, %s, %s", t->node->name, words);
}

static void
tell_start(const struct explanation *e,
           const char *words,
           struct start_words *out)
{
    const struct start_estimate *t = &e->estimate;

    if (t->node == NULL) {
        strbuf_add_text(&out->head, "there are no nodes");
        return;
    }
    switch (t->chance) {
    case START_NOW:
        strbuf_printf(&out->head,
                      "it could start now, on %s (%s%u of %u nodes have room)",
                      t->node->name,
                      e->is_at_least ? "at least " : "",
                      t->counts[START_NOW],
                      e->s->snapshot.n_nodes);
        break;
    case START_LATER:
        tell_later(e, words, out);
        break;
    case START_BLOCKED:
        strbuf_add_text(&out->head, "no node that could run it is open");
        strbuf_printf(&out->tail, ": %s %s", t->node->name, words);
        break;
    case START_NEVER:
        strbuf_add_text(&out->head, "no node can ever run it");
        strbuf_printf(&out->tail,
                      "; the nearest, %s, %s",
                      t->node->name,
                      words);
        break;
    }
}

/* The answer has it already: of that node, or of all nodes of one reason. */
static bool
is_told(const struct explanation *e, const char *words)
{
    const struct json *nearest = json_get(e->answer, "nearest");
    const struct json *reasons = json_get(e->answer, "reasons");

    if (e->estimate.node == NULL)
        return false;
    for (uint32_t i = 0; i < json_count(nearest); i++)
        if (strcmp(json_get_text(json_at(nearest, i), "node"),
                   e->estimate.node->name)
            == 0)
            return true;
    for (uint32_t i = 0; i < json_count(reasons); i++)
        if (strstr(json_get_text(json_at(reasons, i), "message"), words)
            != NULL)
            return true;
    return e->estimate.chance == START_BLOCKED && json_count(reasons) > 0;
}

static void
add_time(struct explanation *e,
         struct json *start,
         const char *name,
         int64_t at_us)
{
    char time[TIME_TEXT_SIZE];

    if (at_us == 0)
        return;
    time_format(at_us, false, time);
    json_set_string(e->arena, start, name, time);
}

static void
set_words(const struct explanation *e,
          struct json *start,
          const char *name,
          const struct start_words *said,
          const char *tail,
          const char *behind)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text, "%s%s%s", said->head.text, tail, behind);
    json_set(e->arena, start, name, text_of(e->arena, text.text, text.length));
}

static void
add_start(struct explanation *e)
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
    size_t before = queue_count_before(e->s->queue, e->pod, e->profile);

    json_set_string(e->arena, start, "chance", chances[e->estimate.chance]);
    add_time(e, start, "from", e->estimate.from_us);
    add_time(e, start, "notBefore", e->estimate.not_before_us);
    if (e->estimate.node != NULL)
        json_set_string(e->arena, start, "node", e->estimate.node->name);
    for (unsigned i = 0; i < ARRAY_SIZE(chances); i++)
        json_set_int(e->arena, nodes, chances[i], e->estimate.counts[i]);
    json_set(e->arena, start, "nodes", nodes);
    json_set_int(e->arena, start, "ends", e->estimate.ends);
    json_set_int(e->arena, start, "trials", e->estimate.trials);
    if (e->estimate.node != NULL && e->estimate.chance != START_NOW)
        tell_node(e, e->estimate.node, &words);
    tell_start(e, words.text, &said);
    if (e->estimate.chance > START_BLOCKED && before > 0)
        strbuf_printf(&behind,
                      "; %zu pod%s %s before it in the queue",
                      before,
                      before == 1 ? "" : "s",
                      before == 1 ? "is" : "are");
    set_words(e, start, "message", &said, said.tail.text, behind.text);
    set_words(e,
              start,
              "outlook",
              &said,
              is_told(e, words.text) ? "" : said.tail.text,
              behind.text);
    strbuf_fini(&said.head);
    strbuf_fini(&said.tail);
}

static void
add_fit(struct explanation *e, const struct node_view *node)
{
    struct node_finder_facts facts = node_finder_facts(e->s->node_finder);
    bool asks = e->s->extender_rounds != NULL
                && extender_rounds_concern_nodes(e->s->extender_rounds, e->pod);

    e->estimate = (struct start_estimate){.chance = START_NOW, .node = node};
    e->estimate.counts[START_NOW] = facts.feasible;
    e->is_at_least = facts.by_bounds;
    set_cause(e,
              "Fits",
              arena_printf(e->arena,
                           "it would fit on node '%s' now%s",
                           node->name,
                           asks ? ", if the extenders agree" : ""));
    json_set_int(e->arena, e->answer, "nodes", e->s->snapshot.n_nodes);
    add_start(e);
}

/* The pod fits somewhere, but for the scratch that no plugin was asked about:
 * a node that has that too. NULL: the estimate says what is missing.
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
            profile_filter(e->profile,
                           e->profile->filters,
                           &e->cycle,
                           &view,
                           1,
                           &answer);
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
    set_cause(e, "NoStorage", "no node that has room has enough scratch");
    return NULL;
}

/* As a cycle would find it now. A sample of the nodes, where the profile says
 * so, is the one that the next cycle begins with.
 */
static void
explain_now(struct explanation *e)
{
    struct scheduler *s = e->s;
    uint32_t start = node_finder_next_start(s->node_finder);
    struct node_view *node;

    s->probe.is_on = false;
    cycle_trace_begin(&s->trace, s->settings.clock); /* where nobody reads it */
    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_init(&e->cycle, e->pod, &s->snapshot);
    scheduler_bind_reservations(s, e->queued);
    node = node_finder_find(s->node_finder, e->profile, &e->cycle, NULL);
    node_finder_set_next_start(s->node_finder, start);
    e->diagnosis = node_finder_diagnosis(s->node_finder);
    if (node != NULL && e->is_stripped)
        node = find_with_scratch(e);
    if (node != NULL)
        add_fit(e, node);
    else if (e->is_without_scratch) {
        add_needs(e);
        add_start(e);
    } else {
        add_diagnosis(e);
        if (e->diagnosis->prefilter_reason == STRING_ID_NONE) {
            start_estimate_make(&e->estimate,
                                &e->shortage,
                                e->diagnosis,
                                s->cache,
                                s->settings.clock);
            add_nodes(e);
            add_start(e);
        }
    }
    cycle_fini(&e->cycle);
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

    if (e->queued != NULL) {
        json_set_string(e->arena, e->answer, "queue", queue_name(e->queued));
        json_set_int(e->arena, e->answer, "attempts", e->queued->attempts);
    }
    json_set_int(e->arena, waiting, "active", (int64_t)counts.active);
    json_set_int(e->arena, waiting, "backoff", (int64_t)counts.backoff);
    json_set_int(e->arena,
                 waiting,
                 "unschedulable",
                 (int64_t)counts.unschedulable);
    json_set_int(e->arena, waiting, "gated", (int64_t)counts.gated);
    if (e->queued == NULL || e->queued->state != QUEUE_GATED)
        json_set_int(
            e->arena,
            waiting,
            "before",
            (int64_t)queue_count_before(e->s->queue, e->pod, e->profile));
    json_set(e->arena, e->answer, "waiting", waiting);
}

/* The order of the queue goes by this, where it is not by submission alone. */
static void
add_order(struct explanation *e)
{
    bool is_guarded = false;
    double predicted_s =
        e->queued != NULL && e->s->pod_ranks != NULL
            ? pod_ranks_predict_s(e->s->pod_ranks, e->queued, &is_guarded)
            : 0;
    struct json *order;

    if (predicted_s <= 0)
        return;
    order = json_make_object(e->arena, e->answer, "order");
    json_set_int(e->arena, order, "predictedSeconds", (int64_t)predicted_s);
    json_set_bool(e->arena, order, "waitedTooLong", is_guarded);
}

static void
explain_gate(struct explanation *e)
{
    const char *why =
        e->queued->gate_reason != STRING_ID_NONE
            ? string_ids_text(e->s->reasons, e->queued->gate_reason)
            : "the pod is gated";

    set_cause(e, "SchedulingGated", why);
}

/* One by itself would be misled by what there is room for. */
static void
explain_group(struct explanation *e)
{
    const struct pod_group *g = e->queued->pod_group;
    const char *said = recorder_message(e->s->recorder, e->queued->pod);
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (pod_group_is_held(g))
        pod_group_format_hold(g, &words);
    else if (said != NULL)
        strbuf_add_text(&words, said);
    else
        strbuf_printf(&words,
                      "it is placed with the other %u pods of its group '%s', "
                      "all or none",
                      g->count - 1,
                      g->name);
    set_cause_n(e, "Group", words.text, words.length);
}

static void
explain_pod(struct explanation *e)
{
    const char *nominated = nominator_node(e->s->handle.nominator, e->pod);

    add_queue(e);
    add_order(e);
    if (cache_is_assumed(e->s->cache, e->pod)) {
        set_state(e, "Binding");
        set_cause(e, "Binding", "it is being bound to its node");
        return;
    }
    set_state(e, "Waiting");
    if (nominated != NULL)
        json_set_string(e->arena, e->answer, "nominatedNode", nominated);
    if (e->queued != NULL && e->queued->state == QUEUE_GATED)
        explain_gate(e);
    if (e->queued != NULL && e->queued->pod_group != NULL)
        explain_group(e);
    else
        explain_now(e);
}

static void
explain_unclaimed(struct explanation *e, const char *scheduler_name)
{
    const char *words = arena_printf(e->arena,
                                     "no scheduler named '%s' has looked at "
                                     "it yet",
                                     scheduler_name);

    set_state(e, "Waiting");
    set_cause(e, "NoScheduler", words);
}

/* The pod without the claims that would be made for it once it is there; its
 * scratch is counted apart.
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

static void
open_pod(struct explanation *e, const struct object *pod, bool is_hypothetical)
{
    CLEANUP(object_unrefp) const struct object *stripped = NULL;

    if (!is_hypothetical)
        e->queued =
            queue_find(e->s->queue, pod->meta->namespace, pod->meta->name);
    else if (shortage_scratch(&pod_of(pod)->spec) > 0)
        stripped = strip_claims(pod, e->arena);
    e->is_stripped = stripped != NULL;
    e->pod = e->queued != NULL ? pod_view_ref(e->queued->pod)
                               : pod_view_new(stripped != NULL ? stripped : pod,
                                              e->s->resources);
    e->shortage = (struct shortage){
        .profile = e->profile,
        .cycle = &e->cycle,
        .resources = e->s->resources,
        .volumes = e->s->handle.volumes,
        .scratch_bytes = shortage_scratch(&pod_of(pod)->spec),
    };
    e->closers = closers_of(&e->shortage);
}

/* All pods of a Job are of one template: one stands for all that wait. NULL:
 * none waits here.
 */
static const struct object *
find_first_pod(struct explanation *e, const struct object *job)
{
    const struct pod_spec *spec = job_of(job)->spec.template_.spec;
    const char *scheduler_name = spec != NULL ? spec->scheduler_name : NULL;
    struct json *pods = json_make_object(e->arena, e->answer, "pods");
    size_t count;
    const struct queued_pod *first =
        queue_find_of_job(e->s->queue, job->meta->uid, &count);

    json_set_int(e->arena, pods, "waiting", (int64_t)count);
    if (first != NULL) {
        json_set_string(e->arena, e->answer, "pod", first->pod->name);
        return first->pod->object;
    }
    if (scheduler_profile_named(e->s, scheduler_name) == NULL)
        explain_unclaimed(e, scheduler_name);
    return NULL;
}

struct json *
scheduler_explain(struct scheduler *s,
                  const struct object *object,
                  bool is_hypothetical,
                  struct arena *arena)
{
    struct explanation e = {
        .s = s,
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
        explain_unclaimed(&e, pod_of(pod)->spec.scheduler_name);
        return e.answer;
    }
    open_pod(&e, pod, is_hypothetical);
    explain_pod(&e);
    pod_view_unref(e.pod);
    return e.answer;
}
