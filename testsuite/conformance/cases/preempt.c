/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of preemption: victims on each node, and the best node. */
#include <string.h>

#include "controller/scheduler/plugins/preemption/preemption.h"
#include "lib/api/object/meta.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/conformance/cases/cases.h"

static const char *
pod_name(struct trial *t, const struct pod_view *pod)
{
    return arena_printf(t->arena, "%s/%s", pod->namespace, pod->name);
}

/* "now" stands for a pod that has not started. */
static void
want_start(struct trial *t, const struct json *criteria, int64_t start_us)
{
    char text[TIME_TEXT_SIZE] = "now";

    if (start_us != INT64_MAX)
        time_format(start_us, false, text);
    want_text(t, "earliestStart", json_get_text(criteria, "earliestStart"), text);
}

/* Victims in order of importance, the most important first. */
static void
want_victims(struct trial *t, const struct json *wanted, const struct victims *v)
{
    const struct json *names = json_get(wanted, "victims");
    const struct json *criteria = json_get(wanted, "criteria");

    want_number(t, "victims", json_count(names), v->count);
    for (uint32_t i = 0; i < json_count(names) && i < v->count; i++)
        want_text(t, "victim", json_text(json_at(names, i)), pod_name(t, v->pods[i]));
    want_number(t, "pdbViolations", json_get_int(wanted, "pdbViolations", -1), v->violations);
    want_number(t, "highestPriority", json_get_int(criteria, "highestPriority", INT64_MIN),
                v->highest_priority);
    want_number(t, "sumOfPriorities", json_get_int(criteria, "sumOfPriorities", -1),
                (int64_t)v->sum_of_priorities);
    want_number(t, "numVictims", json_get_int(criteria, "numVictims", -1), v->count);
    want_start(t, criteria, v->earliest_start_us);
}

/* The criterion that finally distinguished the best candidate. */
static const char *
decided_by(const struct candidates *found, const struct victims *best)
{
    static const char *const names[] = {
        "tie", "startTime", "numVictims", "sumOfPriorities", "highestPriority", "pdbViolations",
    };
    size_t least = ARRAY_SIZE(names) - 1;

    if (found->count == 1)
        return "onlyCandidate";
    for (unsigned i = 0; i < found->count; i++) {
        const struct victims *v = &found->items[i];
        size_t at = v->violations != best->violations                ? 5
                    : v->highest_priority != best->highest_priority  ? 4
                    : v->sum_of_priorities > best->sum_of_priorities ? 3
                    : v->count != best->count                        ? 2
                    : victims_compare(v, best) != 0                  ? 1
                                                                     : 0;

        if (v != best && at < least)
            least = at;
    }
    return names[least];
}

static void
want_best(struct trial *t, const struct candidates *found)
{
    const struct victims *best = candidates_best(found);
    CLEANUP_FREE const char **names = xnew_array(const char *, found->count + 1);
    unsigned n = 0;

    for (unsigned i = 0; i < found->count; i++)
        if (victims_compare(&found->items[i], best) == 0)
            names[n++] = found->items[i].node->name;
    want_names(t, "best", json_get(t->expect, "best"), names, n);
    if (best != NULL)
        want_text(t, "decidedBy", json_get_text(t->expect, "decidedBy"), decided_by(found, best));
}

/* The nodes on which preemption may help, and a dry run is made. */
static void
want_potential(struct trial *t, const struct sandbox *s, const struct diagnosis *d)
{
    const struct snapshot *all = &s->snapshot;
    CLEANUP_FREE const char **names = xnew_array(const char *, all->n_nodes + 1);
    unsigned n = 0;

    for (uint32_t i = 0; i < all->n_nodes; i++)
        if (diagnosis_answer(d, all->nodes[i]).verdict == VERDICT_REJECT)
            names[n++] = all->nodes[i]->name;
    want_names(t, "potentialNodes", json_get(t->expect, "potentialNodes"), names, n);
}

static void
want_candidates(struct trial *t, struct sandbox *s, const struct cycle *c,
                const struct diagnosis *d)
{
    const struct json *wanted = json_get(t->expect, "candidates");
    const struct json *rejected = json_get(t->expect, "rejected");
    struct candidates found;

    candidates_find(&found, s->profile, c, d, 100, 100);
    want_number(t, "candidates", json_count(wanted), found.count);
    for (unsigned i = 0; i < found.count; i++) {
        const struct json *w = json_get(wanted, found.items[i].node->name);

        if (w != NULL)
            want_victims(t, w, &found.items[i]);
        else
            mismatch(t, "%s is no candidate", found.items[i].node->name);
    }
    for (uint32_t i = 0; i < json_count(rejected); i++) {
        const struct node_view *node = snapshot_find(&s->snapshot, rejected->members[i].name);

        want_answer(t, s, node->name, rejected->members[i].value, found.answers[node->slot]);
    }
    want_best(t, &found);
    candidates_fini(&found);
}

static void
want_action(struct trial *t, struct sandbox *s, struct cycle *c, const struct diagnosis *d)
{
    const struct json *wanted = json_get(t->expect, "postFilter");
    const struct json *node = json_get(wanted, "nominatedNode");
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    const char *nominated = NULL, *nomination;
    enum verdict verdict = profile_postfilter(s->profile, c, d, &nominated, &message);

    want_text(t, "code", json_get_text(wanted, "code"), verdict_name(verdict));
    want_text(t, "message", json_get_text(wanted, "message"), message.text);
    nomination = nominated == NULL ? "unchanged" : *nominated == '\0' ? "clear" : "set";
    want_text(t, "nomination", json_get_text(wanted, "nomination"), nomination);
    if (node == NULL)
        return;
    want_text(t, "nominatedNode", json_text(node), nominated);
    want_names(t, "deleted", json_get(wanted, "deleted"), s->evicted, s->n_evicted);
    want_names(t, "nominationsCleared", json_get(wanted, "nominationsCleared"), s->cleared,
               s->n_cleared);
}

void
preemption_case(struct trial *t)
{
    CLEANUP(sandbox_freep) struct sandbox *s = sandbox_new(t);
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = sandbox_pod(s, json_get(t->line, "pod"), NULL);
    const struct diagnosis *d;
    const char *refusal;
    struct cycle c;

    cycle_init(&c, pod, &s->snapshot);
    if (node_finder_find(s->node_finder, s->profile, &c, NULL) != NULL)
        mismatch(t, "the pod fits");
    want_diagnosis(t, s, json_get(t->expect, "filter"));
    d = node_finder_diagnosis(s->node_finder);
    want_potential(t, s, d);
    refusal = preemption_refusal(&c, d, nominator_node(s->handle.nominator, pod));
    want_number(t, "eligible", json_is_true(json_get(t->expect, "eligible")), refusal == NULL);
    want_text(t, "ineligibleReason", json_get_text(t->expect, "ineligibleReason"), refusal);
    if (refusal == NULL)
        want_candidates(t, s, &c, d);
    want_action(t, s, &c, d);
    cycle_fini(&c);
}

void
wanted_candidates(struct trial *t)
{
    int64_t percentage = json_get_int(t->line, "minCandidateNodesPercentage", 0);
    int64_t absolute = json_get_int(t->line, "minCandidateNodesAbsolute", 0);

    for (uint32_t i = 0; i < json_count(t->expect); i++) {
        const struct json *e = json_at(t->expect, i);
        int64_t nodes = json_get_int(e, "nodes", 0);

        want_number(t, arena_printf(t->arena, "of %lld", (long long)nodes),
                    json_get_int(e, "candidates", -1),
                    candidates_wanted((unsigned)percentage, (unsigned)absolute, (uint32_t)nodes));
    }
}
