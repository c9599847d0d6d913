/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of scores, and sequences of whole decisions. */
#include <string.h>

#include "controller/scheduler/state/cache.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static void
want_scores(struct trial *t, const char *plugin, const char *what, const struct json *wanted,
            const struct node_finder_facts *facts, const int64_t *scores)
{
    for (unsigned i = 0; i < facts->feasible; i++) {
        int64_t number = INT64_MIN;

        json_to_int(json_get(wanted, facts->nodes[i]->name), &number);
        want_number(t, arena_printf(t->arena, "%s %s %s", plugin, what, facts->nodes[i]->name),
                    number, scores[i]);
    }
}

static void
want_plugin(struct trial *t, const struct sandbox *s, const struct cycle *c, const char *name,
            const struct json *wanted, const struct node_finder_facts *facts)
{
    unsigned plugin = profile_find(s->profile, name);
    bool is_skipped = (c->skipped_scores & PLUGIN_BIT(plugin)) != 0;
    const char *prescore = json_get_text(wanted, "prescore");
    const struct node_view *const *nodes = (const struct node_view *const *)facts->nodes;
    CLEANUP_FREE int64_t *scores = xnew_array(int64_t, facts->feasible + 1);

    want_number(t, name, json_get_int(wanted, "weight", 0), s->profile->entries[plugin].weight);
    if (prescore != NULL)
        want_number(t, arena_printf(t->arena, "%s prescore skips", name),
                    strcmp(prescore, "Skip") == 0, is_skipped);
    if (json_get(wanted, "raw") == NULL)
        return;
    if (!is_skipped)
        profile_score(s->profile, plugin, c, nodes, facts->feasible, scores);
    want_scores(t, name, "raw", json_get(wanted, "raw"), facts, scores);
    if (!is_skipped)
        profile_normalize(s->profile, plugin, c, nodes, facts->feasible, scores);
    want_scores(t, name, "normalized", json_get(wanted, "normalized"), facts, scores);
}

/* Compares the totals, and the nodes with the best total. */
static void
want_totals(struct trial *t, const struct json *expect, const struct node_finder_facts *facts)
{
    CLEANUP_FREE const char **best = xnew_array(const char *, facts->n_totals + 1);
    unsigned n = 0;

    want_scores(t, "total", "", json_get(expect, "total"), facts, facts->totals);
    for (unsigned i = 0; i < facts->n_totals; i++)
        if (facts->totals[i] == facts->total)
            best[n++] = facts->nodes[i]->name;
    want_names(t, "best", json_get(expect, "best"), best, n);
}

void
want_feasible(struct trial *t, const struct json *expect, const struct node_finder_facts *facts)
{
    CLEANUP_FREE const char **names = xnew_array(const char *, facts->feasible + 1);

    for (unsigned i = 0; i < facts->feasible; i++)
        names[i] = facts->nodes[i]->name;
    want_names(t, "feasible", json_get(expect, "feasible"), names, facts->feasible);
}

void
score_case(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = sandbox_pod(s, json_get(t->line, "pod"), NULL);
    const struct json *plugins = json_get(t->expect, "plugins");
    struct node_finder_facts facts;
    struct cycle c;

    cycle_init(&c, pod, &s->snapshot);
    node_finder_find(s->node_finder, s->profile, &c, NULL);
    facts = node_finder_facts(s->node_finder);
    want_feasible(t, t->expect, &facts);
    for (uint32_t i = 0; i < json_count(plugins) && t->mismatches == 0; i++) {
        const struct json_member *m = &plugins->members[i];
        const char *prescore = json_get_text(m->value, "prescore");

        if (sandbox_has(s, m->name))
            want_plugin(t, s, &c, m->name, m->value, &facts);
        else if (prescore == NULL || strcmp(prescore, "Skip") != 0)
            trial_skip(t, m->name);
    }
    if (t->skipped == NULL && t->mismatches == 0)
        want_totals(t, t->expect, &facts);
    cycle_fini(&c);
    want_shared(t, s, pod, t->expect);
}

void
want_shared(struct trial *t, struct sandbox *s, struct pod_view *pod, const struct json *expect)
{
    const struct json *best = json_get(expect, "best");
    const struct json *feasible = json_get(expect, "feasible");
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    const struct json *good = json_count(best) > 0 ? best : feasible;
    struct node_view *node;
    bool is_good = false;
    struct cycle c;

    cycle_init(&c, pod, &s->snapshot);
    node = node_finder_find(s->sharing, s->profile, &c, NULL);
    for (uint32_t i = 0; node != NULL && i < json_count(good); i++)
        is_good |= strcmp(json_text(json_at(good, i)), node->name) == 0;
    want_number(t, "feasible with sharing", json_count(feasible),
                node_finder_facts(s->sharing).feasible);
    if (json_count(feasible) > 0 && !is_good)
        mismatch(t, "with sharing '%s' is chosen, which is not among the best",
                 node != NULL ? node->name : "");
    if (node == NULL && json_get_text(expect, "message") != NULL) {
        diagnosis_format(node_finder_diagnosis(s->sharing), s->handle.reasons, &message);
        want_text(t, "message with sharing", json_get_text(expect, "message"), message.text);
    }
    cycle_fini(&c);
}

static bool
run_step(struct trial *t, struct sandbox *s, const struct json *pod_json, const struct json *step)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = sandbox_pod(s, pod_json, NULL);
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    struct node_finder_facts facts;
    struct cycle c;

    cycle_init(&c, pod, &s->snapshot);
    node_finder_find(s->node_finder, s->profile, &c, NULL);
    facts = node_finder_facts(s->node_finder);
    want_feasible(t, step, &facts);
    if (json_get(step, "total") != NULL && t->mismatches == 0)
        want_totals(t, step, &facts);
    if (facts.feasible == 0) {
        diagnosis_format(node_finder_diagnosis(s->node_finder), s->handle.reasons, &message);
        want_text(t, "message", json_get_text(step, "message"), message.text);
    }
    cycle_fini(&c);
    want_shared(t, s, pod, step);
    if (json_get_text(step, "bound") != NULL)
        sandbox_bind(s, pod_json, json_get_text(step, "bound"));
    return t->mismatches == 0;
}

void
sequence_case(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    const struct json *queue = json_get(t->line, "queue");
    const struct json *steps = json_get(t->expect, "steps");

    if (!sandbox_has(s, "InterPodAffinity") || !sandbox_has(s, "PodTopologySpread")) {
        trial_skip(t, "InterPodAffinity, PodTopologySpread");
        return;
    }
    want_number(t, "steps", json_count(steps), json_count(queue));
    for (uint32_t i = 0; i < json_count(steps) && i < json_count(queue); i++)
        if (!run_step(t, s, json_at(queue, i), json_at(steps, i)))
            return;
}
