/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of filter verdicts: each plugin alone, and all of them together. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static void
want_nodes(struct trial *t, struct sandbox *s, unsigned plugin, const struct cycle *c,
           const struct json *wanted)
{
    const struct node_view *const *nodes = (const struct node_view *const *)s->snapshot.nodes;
    unsigned n = s->snapshot.n_nodes;
    CLEANUP_FREE struct answer *answers = xnew_array(struct answer, n + 1);

    profile_filter(s->profile, PLUGIN_BIT(plugin), c, nodes, n, answers);
    for (unsigned i = 0; i < n; i++)
        want_answer(t, s,
                    arena_printf(t->arena, "%s on %s", s->profile->entries[plugin].plugin->name,
                                 nodes[i]->name),
                    json_get(wanted, nodes[i]->name), answers[i]);
}

/* Checks one plugin, with a cycle state of its own. */
static void
want_plugin(struct trial *t, struct sandbox *s, struct pod_view *pod, const char *name,
            const struct json *wanted)
{
    unsigned plugin = profile_find(s->profile, name);
    const struct profile_entry *e = &s->profile->entries[plugin];
    struct prefilter_result prefilter_result = {0};
    struct answer answer = ANSWER_OK;
    uint32_t reason = STRING_ID_NONE;
    struct cycle c;

    cycle_init(&c, pod, &s->snapshot);
    if (e->plugin->prefilter != NULL) {
        answer.verdict = (uint8_t)e->plugin->prefilter(e->self, &c, &prefilter_result, &reason);
        answer.reason = reason;
    }
    if (json_get(wanted, "prefilter") != NULL) {
        struct json *status = json_object(t->arena);

        json_set(t->arena, status, "code", json_get(wanted, "prefilter"));
        if (json_get(wanted, "reasons") != NULL)
            json_set(t->arena, status, "reasons", json_get(wanted, "reasons"));
        want_answer(t, s, name, status, answer);
    }
    if (json_get(wanted, "prefilterNodes") != NULL || prefilter_result.has_names)
        want_names(t, name, json_get(wanted, "prefilterNodes"), prefilter_result.names,
                   prefilter_result.count);
    if (json_get(wanted, "nodes") != NULL && answer.verdict == VERDICT_OK)
        want_nodes(t, s, plugin, &c, json_get(wanted, "nodes"));
    free((void *)prefilter_result.names);
    cycle_fini(&c);
}

void
want_diagnosis(struct trial *t, const struct sandbox *s, const struct json *rejected)
{
    const struct diagnosis *d = node_finder_diagnosis(s->node_finder);
    const char *plugins[PROFILE_MAX_PLUGINS];
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    unsigned n = 0;

    for (unsigned i = 0; rejected != NULL && i < s->snapshot.n_nodes; i++) {
        const struct node_view *node = s->snapshot.nodes[i];
        const struct json *status = json_get(rejected, node->name);

        want_answer(t, s, node->name, status, d->answers[node->slot]);
    }
    if (json_get(t->expect, "absentNodes") != NULL)
        want_answer(t, s, "absent nodes", json_get(t->expect, "absentNodes"), d->absent);
    if (node_finder_facts(s->node_finder).feasible > 0)
        return;
    diagnosis_format(d, s->handle.reasons, &message);
    want_text(t, "message", json_get_text(t->expect, "message"), message.text);
    for (unsigned i = 0; i < s->profile->n_entries; i++)
        if ((d->unschedulable & PLUGIN_BIT(i)) != 0)
            plugins[n++] = s->profile->entries[i].plugin->name;
    want_names(t, "unschedulablePlugins", json_get(t->expect, "unschedulablePlugins"), plugins, n);
}

static void
want_choice(struct trial *t, struct sandbox *s, struct pod_view *pod)
{
    struct node_finder_facts facts;
    struct cycle c;

    cycle_init(&c, pod, &s->snapshot);
    node_finder_find(s->node_finder, s->profile, &c, NULL);
    facts = node_finder_facts(s->node_finder);
    want_feasible(t, t->expect, &facts);
    want_diagnosis(t, s, json_get(t->expect, "rejectedBy"));
    cycle_fini(&c);
    want_shared(t, s, pod, t->expect);
}

static void
want_order(struct trial *t, const struct sandbox *s)
{
    const struct json *order = json_get(t->expect, "order");

    for (uint32_t i = 0; i < json_count(order); i++)
        want_text(t, "order", json_text(json_at(order, i)),
                  i < s->snapshot.n_nodes ? s->snapshot.nodes[i]->name : "");
}

void
filter_case(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    const struct json *wanted = json_get(t->expect, "plugins");
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = sandbox_pod(s, json_get(t->line, "pod"), NULL);

    want_order(t, s);
    for (uint32_t i = 0; i < json_count(wanted); i++) {
        const struct json_member *m = &wanted->members[i];
        const char *prefilter = json_get_text(m->value, "prefilter");

        if (sandbox_has(s, m->name))
            want_plugin(t, s, pod, m->name, m->value);
        else if (prefilter == NULL || strcmp(prefilter, "Skip") != 0)
            trial_skip(t, m->name);
    }
    if (t->skipped == NULL)
        want_choice(t, s, pod);
}

/* The case runs the two-pass filter with nominated pods. */
void
nominated_case(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = sandbox_pod(s, json_get(t->line, "pod"), NULL);
    struct prefilter_result prefilter_result = {0};
    plugin_set narrowers;
    struct cycle c;

    if (!sandbox_has(s, "InterPodAffinity") && strstr(t->name, "-resources-") == NULL
        && strstr(t->name, "-ports-") == NULL) {
        trial_skip(t, "InterPodAffinity, PodTopologySpread");
        return;
    }
    want_choice(t, s, pod);
    cycle_init(&c, pod, &s->snapshot);
    if (profile_prefilter(s->profile, &c, &prefilter_result, &narrowers).verdict == VERDICT_OK)
        for (unsigned i = 0; i < s->snapshot.n_nodes; i++) {
            struct node_view *node = s->snapshot.nodes[i];
            const struct node_view *one = node;
            const struct json *alone = json_get(json_get(t->expect, "alone"), node->name);
            const struct json *with = json_get(json_get(t->expect, "withNominated"), node->name);
            struct answer answer;

            profile_filter(s->profile, s->profile->filters, &c, &one, 1, &answer);
            if (alone != NULL)
                want_answer(t, s, "alone", alone, answer);
            if (with != NULL)
                want_answer(t, s, "withNominated", with,
                            profile_filter_nominated(s->profile, &c, node));
        }
    free((void *)prefilter_result.names);
    cycle_fini(&c);
}
