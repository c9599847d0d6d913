/* SPDX-License-Identifier: Apache-2.0 */
/* Removing all that may be removed and then putting back what fits is upstream's order, and
 * the recorded decisions depend on it: the result is a set that cannot be made smaller, not
 * the smallest one. The trial runs on the node itself inside a journal, since each of
 * thousands of nodes may be tried for one pod.
 *
 * A pod that would be suspended, not ended, frees only its cores: its memory, ports and
 * volumes stay. And a gang that ends together is counted once, with the highest priority of
 * its members, on whichever node its first victim is found.
 */
#include "controller/scheduler/plugins/preemption/victims.h"

#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/proposal.h"
#include "controller/scheduler/plugins/preemption/disruption_budget.h"
#include "controller/scheduler/plugins/preemption/victim_terms.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

/* A what-if on a node and a copy of the cycle. The journal is open between
 * begin and end, which undoes all changes.
 */
struct trial_run {
    const struct profile *profile;
    struct cycle cycle;
    struct node_view *node;
    size_t mark;
};

static void
trial_begin(struct trial_run *t, const struct profile *p, const struct cycle *c,
            struct node_view *node)
{
    t->profile = p;
    t->node = node;
    cycle_copy(&t->cycle, c);
    t->mark = journal_begin(node->ledger.journal);
}

static void
trial_end(struct trial_run *t)
{
    journal_roll_back(t->node->ledger.journal, t->mark);
    cycle_fini(&t->cycle);
}

/* Whether it would be suspended, which frees only its cores. */
static bool
would_stand_still(const struct trial_run *t, const struct pod_view *pod)
{
    return victim_terms_find(t->profile, t->node, pod, t->cycle.pod).mode == PREEMPTION_SUSPENDS;
}

static void
remove_pod(struct trial_run *t, struct pod_view *pod)
{
    if (would_stand_still(t, pod)) {
        ledger_lend(&t->node->ledger, pod);
        return;
    }
    node_view_remove_pod(t->node, pod);
    profile_remove_pod(t->profile, &t->cycle, pod, t->node);
}

static void
add_pod(struct trial_run *t, struct pod_view *pod)
{
    if (would_stand_still(t, pod)) {
        ledger_take_back(&t->node->ledger, pod);
        return;
    }
    node_view_add_pod(t->node, pod, LEDGER_RUNNING);
    profile_add_pod(t->profile, &t->cycle, pod, t->node);
}

static struct answer
try_filters(const struct trial_run *t)
{
    return profile_filter_nominated(t->profile, &t->cycle, t->node);
}

static bool
is_more_important(const struct pod_view *a, const struct pod_view *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return pod_view_start_us(a) < pod_view_start_us(b);
}

/* Insertion sort: it is stable, so equal pods keep their order, and a node has
 * few pods.
 */
static void
sort_by_importance(struct pod_view **pods, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        struct pod_view *pod = pods[i];
        unsigned at = i;

        while (at > 0 && is_more_important(pod, pods[at - 1])) {
            pods[at] = pods[at - 1];
            at--;
        }
        pods[at] = pod;
    }
}

/* ---- Gangs that end together ---- */

static bool
is_same_gang(const struct pod_view *a, const struct pod_view *b)
{
    const struct scheduling_group *x = a->pod->spec.scheduling_group;
    const struct scheduling_group *y = b->pod->spec.scheduling_group;

    return x != NULL && y != NULL && a->owner == b->owner
           && strcmp(x->pod_group_name, y->pod_group_name) == 0
           && strcmp(a->namespace, b->namespace) == 0;
}

/* Whether no pod before it in the list is of its gang. */
static bool
is_first_of_gang(struct pod_view *const *pods, unsigned at)
{
    for (unsigned i = 0; i < at; i++)
        if (is_same_gang(pods[i], pods[at]))
            return false;
    return true;
}

/* A visit to the gang of one pod. */
struct gang_visit {
    const struct pod_view *pod;
    int64_t highest_priority;
    struct victims *victims; /* to be weighed; or NULL */
    struct budgets *budgets; /* or NULL */
    bool violates;
};

static void
visit_member(struct pod_view *member, const struct node_view *node, void *context)
{
    struct gang_visit *g = context;

    (void)node;
    if (member->priority > g->highest_priority)
        g->highest_priority = member->priority;
    if (pod_view_is_same(member, g->pod))
        return;
    if (g->budgets != NULL)
        g->violates |= disruption_budgets_violate(g->budgets, member);
    if (g->victims == NULL)
        return;
    g->victims->sum_of_priorities += (double)member->priority + 2147483648.0;
    g->victims->n_ended++;
}

static void
visit_gang(const struct profile *p, struct gang_visit *g)
{
    const struct handle *handle = p != NULL ? p->handle : NULL;

    g->highest_priority = g->pod->priority;
    if (handle != NULL && handle->visit_gang != NULL)
        handle->visit_gang(handle->owner, g->pod, visit_member, g);
}

static int64_t
gang_priority(const struct profile *p, const struct pod_view *pod)
{
    struct gang_visit g = {.pod = pod};

    visit_gang(p, &g);
    return g.highest_priority;
}

static bool
violates_budgets(const struct profile *p, struct budgets *budgets, struct pod_view *const *pods,
                 unsigned at)
{
    struct gang_visit g = {.pod = pods[at], .budgets = budgets};

    if (!is_first_of_gang(pods, at))
        return false; /* counted with the first */
    g.violates = disruption_budgets_violate(budgets, pods[at]);
    visit_gang(p, &g);
    return g.violates;
}

static bool
has_potential(const struct cycle *c, const struct node_view *node)
{
    return node->lowest_priority < c->pod->priority;
}

static bool
may_be_victim(const struct profile *p, const struct cycle *c, const struct node_view *node,
              const struct pod_view *pod)
{
    return pod->priority < c->pod->priority && gang_priority(p, pod) < c->pod->priority
           && victim_terms_find(p, node, pod, c->pod).mode != PREEMPTION_IS_OFF;
}

static unsigned
find_potential(const struct profile *p, const struct cycle *c, const struct node_view *node,
               struct pod_view **pods)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < node->pods.count; i++)
        if (may_be_victim(p, c, node, node->pods.items[i]))
            pods[count++] = node->pods.items[i];
    return count;
}

/* Puts back each pod whose `violates` is `kind`, unless the preemptor then no
 * longer fits; such a pod becomes a victim.
 */
static void
reprieve(struct trial_run *t, struct pod_view *const *pods, const bool *violates, unsigned count,
         bool kind, struct victims *v)
{
    for (unsigned i = 0; i < count; i++) {
        if (violates[i] != kind)
            continue;
        add_pod(t, pods[i]);
        if (try_filters(t).verdict == VERDICT_OK)
            continue;
        remove_pod(t, pods[i]);
        v->pods[v->count++] = pods[i];
        v->violations += kind;
    }
}

static void
weigh(const struct profile *p, struct victims *v)
{
    v->highest_priority = v->pods[0]->priority;
    v->earliest_start_us = INT64_MAX;
    for (unsigned i = 0; i < v->count; i++) {
        const struct pod_view *pod = v->pods[i];

        if (is_first_of_gang(v->pods, i)) {
            struct gang_visit g = {.pod = pod, .victims = v};

            v->sum_of_priorities += (double)pod->priority + 2147483648.0;
            v->n_ended++;
            visit_gang(p, &g);
        }
        if (pod->priority == v->highest_priority && pod_view_start_us(pod) < v->earliest_start_us)
            v->earliest_start_us = pod_view_start_us(pod);
    }
}

static struct answer
find_on(struct trial_run *t, struct pod_view **pods, unsigned count, struct budgets *budgets,
        struct victims *v)
{
    CLEANUP_FREE bool *violates = xnew_array(bool, count + 1);
    struct answer answer;

    for (unsigned i = 0; i < count; i++)
        remove_pod(t, pods[i]);
    answer = try_filters(t);
    if (answer.verdict != VERDICT_OK)
        return answer;
    sort_by_importance(pods, count);
    budgets_reset(budgets);
    for (unsigned i = 0; i < count; i++)
        violates[i] = violates_budgets(t->profile, budgets, pods, i);
    v->pods = xnew_array(struct pod_view *, count);
    reprieve(t, pods, violates, count, true, v);
    reprieve(t, pods, violates, count, false, v);
    sort_by_importance(v->pods, v->count);
    if (v->count > 0)
        weigh(t->profile, v);
    return ANSWER_OK;
}

struct answer
victims_find(const struct profile *p, const struct cycle *c, struct node_view *node,
             struct budgets *budgets, uint32_t nobody, struct victims *ret_victims)
{
    CLEANUP_FREE struct pod_view **pods = NULL;
    struct victims v = {.node = node};
    struct trial_run t;
    struct answer answer;
    unsigned count;

    if (!has_potential(c, node))
        return (struct answer){
            .verdict = VERDICT_NEVER,
            .plugin = PLUGIN_NONE,
            .reason = nobody,
        };
    pods = xnew_array(struct pod_view *, node->pods.count + 1);
    count = find_potential(p, c, node, pods);
    if (count == 0)
        return (struct answer){
            .verdict = VERDICT_NEVER,
            .plugin = PLUGIN_NONE,
            .reason = nobody,
        };
    trial_begin(&t, p, c, node);
    answer = find_on(&t, pods, count, budgets, &v);
    trial_end(&t);
    if (answer.verdict == VERDICT_OK)
        *ret_victims = v;
    else
        victims_fini(&v);
    return answer;
}

/* ---- Pods that are ending ---- */

/* A pod that is killed at its time is gone a moment later. */
#define LATE_US INT64_C(10000000)

bool
victims_ends_by(const struct pod_view *pod, int64_t now_us, int64_t until_us)
{
    const int64_t killed_us = pod->pod->meta.deleted_at_us;

    return pod_view_is_terminating(pod) && killed_us + LATE_US > now_us && killed_us <= until_us;
}

int64_t
victims_end_us(const struct profile *p, const struct cycle *c, const struct victims *v,
               int64_t now_us)
{
    int64_t longest_s = 0;

    for (unsigned i = 0; i < v->count; i++) {
        const struct victim_terms terms = victim_terms_find(p, v->node, v->pods[i], c->pod);
        const int64_t *own = v->pods[i]->pod->spec.termination_grace_seconds;
        int64_t grace_s = terms.grace_s > 0 ? terms.grace_s : own != NULL ? *own : 0;

        if (terms.mode != PREEMPTION_SUSPENDS && grace_s > longest_s)
            longest_s = grace_s;
    }
    return now_us + longest_s * 1000000;
}

bool
victims_are_ending(const struct profile *p, const struct cycle *c, struct node_view *node,
                   int64_t now_us, int64_t until_us)
{
    CLEANUP_FREE struct pod_view **pods = NULL;
    struct trial_run t;
    unsigned count = 0;
    bool is_enough;

    for (uint32_t i = 0; i < node->pods.count; i++)
        count += victims_ends_by(node->pods.items[i], now_us, until_us);
    if (count == 0)
        return false;
    pods = xnew_array(struct pod_view *, count);
    count = 0;
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (victims_ends_by(node->pods.items[i], now_us, until_us))
            pods[count++] = node->pods.items[i];
    trial_begin(&t, p, c, node);
    for (unsigned i = 0; i < count; i++) {
        node_view_remove_pod(node, pods[i]);
        profile_remove_pod(p, &t.cycle, pods[i], node);
    }
    is_enough = try_filters(&t).verdict == VERDICT_OK;
    trial_end(&t);
    return is_enough;
}

void
victims_remove_ending(struct node_view *node, int64_t now_us, int64_t until_us,
                      void (*each)(struct pod_view *pod, const struct node_view *node,
                                   void *context),
                      void *context)
{
    for (uint32_t i = node->pods.count; i-- > 0;) {
        struct pod_view *pod = node->pods.items[i];

        if (!victims_ends_by(pod, now_us, until_us))
            continue;
        node_view_remove_pod(node, pod);
        each(pod, node, context);
    }
}

static struct pod_view *
find_same(const struct node_view *node, const struct pod_view *pod)
{
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (pod_view_is_same(node->pods.items[i], pod))
            return node->pods.items[i];
    return NULL;
}

struct victim_removal {
    const struct profile *profile;
    const struct pod_view *preemptor;
    void (*each)(struct pod_view *pod, const struct node_view *node, void *context);
    void *context;
};

static void
remove_victim(struct pod_view *pod, const struct node_view *node, void *context)
{
    const struct victim_removal *r = context;
    struct node_view *changed = (struct node_view *)(uintptr_t)node;

    if (find_same(node, pod) == NULL)
        return;
    if (victim_terms_find(r->profile, node, pod, r->preemptor).mode == PREEMPTION_SUSPENDS)
        ledger_lend(&changed->ledger, pod);
    else
        node_view_remove_pod(changed, pod);
    r->each(pod, node, r->context);
}

void
victims_remove(const struct profile *p, const struct cycle *c, const struct victims *v,
               void (*each)(struct pod_view *pod, const struct node_view *node, void *context),
               void *context)
{
    struct victim_removal r = {p, c->pod, each, context};
    const struct handle *handle = p->handle;

    for (unsigned i = 0; i < v->count; i++) {
        if (handle->visit_gang != NULL)
            handle->visit_gang(handle->owner, v->pods[i], remove_victim, &r);
        remove_victim(v->pods[i], v->node, &r);
    }
}

static bool
fits_without(struct trial_run *t, const struct victims *v)
{
    for (unsigned i = 0; i < v->count; i++)
        remove_pod(t, v->pods[i]);
    return try_filters(t).verdict == VERDICT_OK;
}

bool
victims_choose(const struct profile *p, const struct cycle *c, struct node_view *node,
               const struct proposal *proposal, struct victims *ret_victims)
{
    struct victims v = {.node = node, .violations = proposal->violations};
    struct trial_run t;
    bool is_good = proposal->count > 0;

    v.pods = xnew_array(struct pod_view *, proposal->count + 1);
    for (unsigned i = 0; i < proposal->count && is_good; i++) {
        struct pod_view *pod = find_same(node, proposal->pods[i]);

        is_good = pod != NULL && may_be_victim(p, c, node, pod);
        v.pods[v.count++] = pod;
    }
    if (is_good) {
        trial_begin(&t, p, c, node);
        is_good = fits_without(&t, &v);
        trial_end(&t);
    }
    if (!is_good) {
        victims_fini(&v);
        return false;
    }
    sort_by_importance(v.pods, v.count);
    weigh(p, &v);
    *ret_victims = v;
    return true;
}

void
victims_fini(struct victims *v)
{
    free(v->pods);
    v->pods = NULL;
    v->count = 0;
}

static int
order(double a, double b)
{
    return (a > b) - (a < b);
}

int
victims_compare(const struct victims *a, const struct victims *b)
{
    int by = order(a->violations, b->violations);

    if (by == 0)
        by = order((double)a->highest_priority, (double)b->highest_priority);
    if (by == 0)
        by = order(a->sum_of_priorities, b->sum_of_priorities);
    if (by == 0)
        by = order(a->n_ended, b->n_ended);
    if (by == 0)
        by = (a->earliest_start_us < b->earliest_start_us)
             - (a->earliest_start_us > b->earliest_start_us);
    return by;
}
