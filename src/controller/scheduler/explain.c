/* SPDX-License-Identifier: Apache-2.0 */
/* Why a pod waits: what the queue, the filters and the nodes say of it now. */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define NEAREST 3

/* No text of an answer is longer: there are few of them. */
#define TEXT_MAX 1024

struct explanation {
    struct scheduler *s;
    struct arena *arena;
    struct json *answer;
    struct pod_view *pod;
    const struct queued_pod *queued; /* NULL: not in the queue */
    const struct profile *profile;
    struct cycle cycle;
    const struct diagnosis *diagnosis;
};

static struct json *
text_of(struct arena *arena, const char *text, size_t length)
{
    return json_string_n(arena, text, length < TEXT_MAX ? length : TEXT_MAX);
}

static void
set_cause(struct explanation *e,
          const char *code,
          const char *text,
          size_t length)
{
    struct json *cause = json_make_object(e->arena, e->answer, "cause");

    json_set_string(e->arena, cause, "code", code);
    json_set(e->arena, cause, "message", text_of(e->arena, text, length));
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
                  text.text,
                  text.length);
        return;
    }
    json_set_int(e->arena, e->answer, "nodes", all.total);
    set_cause(e, all.items[0].code, all.items[0].text, all.items[0].length);
    add_reasons(e, &all);
}

/* The further a node came through the filters, the nearer it is; one that no
 * change of pods can help is not near at all.
 */
static int
nearness(const struct diagnosis *d, const struct node_view *node)
{
    struct answer a = diagnosis_answer(d, node);

    return a.verdict == VERDICT_REJECT ? a.plugin : -1;
}

static unsigned
find_nearest(const struct diagnosis *d, struct node_view *out[NEAREST])
{
    unsigned count = 0;

    for (uint32_t i = 0; i < d->snapshot->n_nodes; i++) {
        struct node_view *node = d->snapshot->nodes[i];
        unsigned at = count;

        if (nearness(d, node) < 0)
            continue;
        while (at > 0 && nearness(d, out[at - 1]) < nearness(d, node))
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--)
            out[j] = out[j - 1];
        out[at] = node;
    }
    return count;
}

static void
explain_node(const struct explanation *e,
             const struct node_view *node,
             struct strbuf *out)
{
    const struct profile *p = e->profile;

    for (unsigned i = 0; i < p->n_entries; i++)
        if (p->entries[i].plugin->explain != NULL)
            p->entries[i].plugin->explain(p->entries[i].self,
                                          &e->cycle,
                                          node,
                                          out);
    if (out->length >= 2)
        strbuf_truncate(out, out->length - 2);
}

static void
add_nearest(struct explanation *e)
{
    struct json *nodes = json_array(e->arena);
    struct node_view *nearest[NEAREST];
    unsigned count = find_nearest(e->diagnosis, nearest);

    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
        struct json *node = json_object(e->arena);

        explain_node(e, nearest[i], &words);
        json_set_string(e->arena, node, "node", nearest[i]->name);
        json_set(e->arena,
                 node,
                 "message",
                 text_of(e->arena, words.text, words.length));
        json_append(e->arena, nodes, node);
    }
    if (count > 0)
        json_set(e->arena, e->answer, "nearest", nodes);
}

static void
add_fit(struct explanation *e, const struct node_view *node)
{
    bool asks = e->s->extender_rounds != NULL
                && extender_rounds_concern_nodes(e->s->extender_rounds, e->pod);
    const char *words = arena_printf(e->arena,
                                     "it would fit on node '%s' now%s",
                                     node->name,
                                     asks ? ", if the extenders agree" : "");

    set_cause(e, "Fits", words, strlen(words));
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
    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_init(&e->cycle, e->pod, &s->snapshot);
    node = node_finder_find(s->node_finder, e->profile, &e->cycle, NULL);
    node_finder_set_next_start(s->node_finder, start);
    e->diagnosis = node_finder_diagnosis(s->node_finder);
    if (node != NULL)
        add_fit(e, node);
    else {
        add_diagnosis(e);
        add_nearest(e);
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
    json_set(e->arena, e->answer, "waiting", waiting);
}

static void
explain_gate(struct explanation *e)
{
    const char *why =
        e->queued->gate_reason != STRING_ID_NONE
            ? string_ids_text(e->s->reasons, e->queued->gate_reason)
            : "the pod is gated";

    set_cause(e, "SchedulingGated", why, strlen(why));
}

static void
explain_pod(struct explanation *e)
{
    const char *nominated = nominator_node(e->s->handle.nominator, e->pod);

    add_queue(e);
    if (cache_is_assumed(e->s->cache, e->pod)) {
        set_state(e, "Binding");
        set_cause(e, "Binding", "it is being bound to its node", 29);
        return;
    }
    set_state(e, "Waiting");
    if (nominated != NULL)
        json_set_string(e->arena, e->answer, "nominatedNode", nominated);
    if (e->queued != NULL && e->queued->state == QUEUE_GATED)
        explain_gate(e);
    else
        explain_now(e);
}

static void
explain_unclaimed(struct explanation *e, const struct pod *pod)
{
    const char *words = arena_printf(e->arena,
                                     "no scheduler named '%s' has looked at "
                                     "it yet",
                                     pod->spec.scheduler_name);

    set_state(e, "Waiting");
    set_cause(e, "NoScheduler", words, strlen(words));
}

struct json *
scheduler_explain(struct scheduler *s,
                  const struct object *pod,
                  bool is_hypothetical,
                  struct arena *arena)
{
    struct explanation e = {
        .s = s,
        .arena = arena,
        .answer = json_object(arena),
        .profile = scheduler_profile(s, pod),
    };

    if (e.profile == NULL) {
        explain_unclaimed(&e, pod_of(pod));
        return e.answer;
    }
    if (!is_hypothetical)
        e.queued = queue_find(s->queue, pod->meta->namespace, pod->meta->name);
    e.pod = e.queued != NULL ? pod_view_ref(e.queued->pod)
                             : pod_view_new(pod, s->resources);
    explain_pod(&e);
    pod_view_unref(e.pod);
    return e.answer;
}
