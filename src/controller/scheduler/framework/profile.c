/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream runs all filters of one node and then goes to the next. Here one filter runs over
 * all nodes that are left, and then the next filter: the same answers, as each node keeps its
 * first refusal, in one tight loop for each plugin. Sets of plugins are bits of a word, so
 * that "the filters that look at other pods" or "those that depend on time" is a mask that
 * costs nothing to apply.
 *
 * A plugin that writes notes at one point and reads them at another is refused if only one of
 * the two is enabled, since it would read the notes of nobody.
 */
#include "controller/scheduler/framework/profile.h"

#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/probe.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

static int
add_entry(struct profile *p, const struct profile_plugin *given, struct error *err)
{
    struct profile_entry *e = &p->entries[p->n_entries];
    int r;

    e->plugin = given->plugin;
    e->weight = given->weight != 0 ? given->weight : 1;
    e->self = NULL;
    if (given->plugin->make != NULL) {
        r = given->plugin->make(p->handle, given->args, &e->self, err);
        if (r < 0)
            return error_wrap(err, r, "profile '%s': plugin '%s'", p->scheduler_name,
                              given->plugin->name);
    }
    p->n_entries++;
    return 0;
}

static void
make_orders(struct profile *p, const struct point_order *given)
{
    for (unsigned point = 0; point < POINTS; point++) {
        struct point_order *order = &p->orders[point];

        if (given != NULL) {
            *order = given[point];
            continue;
        }
        for (unsigned i = 0; i < p->n_entries; i++)
            if (plugin_has_point(p->entries[i].plugin, point))
                order->items[order->count++] = (uint8_t)i;
    }
}

static plugin_set
set_of(const struct profile *p, enum point point)
{
    plugin_set set = 0;

    profile_foreach(i, p, point) set |= PLUGIN_BIT(i);
    return set;
}

/* A plugin writes notes at one point and reads them at the other, so both must
 * be enabled.
 */
static int
check_prepared(const struct profile *p, enum point before, enum point after, struct error *err)
{
    plugin_set unprepared = set_of(p, after) & ~set_of(p, before);

    for (unsigned i = 0; i < p->n_entries; i++)
        if ((unprepared & PLUGIN_BIT(i)) != 0 && plugin_has_point(p->entries[i].plugin, before))
            return error_set(err, -EINVAL,
                             "profile '%s': plugin '%s' cannot take part in "
                             "%s without %s; disable both or neither",
                             p->scheduler_name, p->entries[i].plugin->name, point_name(after),
                             point_name(before));
    return 0;
}

static void
find_others(struct profile *p)
{
    plugin_set seen = 0;

    for (unsigned i = 0; i < p->n_entries; i++) {
        const struct plugin *plugin = p->entries[i].plugin;

        if (plugin->depends_on_others)
            p->others |= PLUGIN_BIT(i);
        if (plugin->depends_on_time)
            p->timed |= PLUGIN_BIT(i);
        if (plugin->sign_prefilter != NULL)
            p->prefilter_signers |= PLUGIN_BIT(i);
        if (plugin->filters_room)
            p->rooms |= PLUGIN_BIT(i);
    }
    p->timed &= p->filters;
    p->rooms &= p->filters;
    p->others_filter_last = true;
    profile_foreach(at, p, POINT_FILTER)
    {
        if (((p->others | p->timed) & PLUGIN_BIT(at)) == 0 && (seen & (p->others | p->timed)) != 0)
            p->others_filter_last = false;
        seen |= PLUGIN_BIT(at);
    }
}

int
profile_new(const struct profile_settings *settings, struct profile **ret_profile,
            struct error *err)
{
    CLEANUP(profile_freep) struct profile *p = xnew(struct profile);

    p->scheduler_name = xstrdup(settings->scheduler_name);
    p->percentage_of_nodes = settings->percentage_of_nodes;
    p->handle = settings->handle;
    p->evaluations = xcalloc(POINTS, sizeof(*p->evaluations));
    if (settings->n_plugins > PROFILE_MAX_PLUGINS)
        return error_set(err, -E2BIG, "profile '%s': more than %d plugins", p->scheduler_name,
                         PROFILE_MAX_PLUGINS);
    for (unsigned i = 0; i < settings->n_plugins; i++) {
        int r = add_entry(p, &settings->plugins[i], err);

        if (r < 0)
            return r;
    }
    make_orders(p, settings->orders);
    p->filters = set_of(p, POINT_FILTER);
    p->scores = set_of(p, POINT_SCORE);
    find_others(p);
    if (check_prepared(p, POINT_PREFILTER, POINT_FILTER, err) < 0
        || check_prepared(p, POINT_PRESCORE, POINT_SCORE, err) < 0)
        return -EINVAL;
    *ret_profile = p;
    p = NULL;
    return 0;
}

void
profile_free(struct profile *p)
{
    if (p == NULL)
        return;
    for (unsigned i = 0; i < p->n_entries; i++)
        if (p->entries[i].plugin->drop != NULL)
            p->entries[i].plugin->drop(p->entries[i].self);
    free(p->evaluations);
    free(p->scheduler_name);
    free(p);
}

unsigned
profile_find(const struct profile *p, const char *plugin_name)
{
    for (unsigned i = 0; i < p->n_entries; i++)
        if (strcmp(p->entries[i].plugin->name, plugin_name) == 0)
            return i;
    return PLUGIN_NONE;
}

bool
profile_less(const struct profile *p, const struct queued_pod *a, const struct queued_pod *b)
{
    profile_foreach(i, p, POINT_QUEUE_SORT) return p->entries[i].plugin->less(p->entries[i].self, a,
                                                                              b);
    return false;
}

bool
profile_is_ranked(const struct profile *p)
{
    profile_foreach(i, p, POINT_QUEUE_SORT)
    {
        if (p->entries[i].plugin->is_ranked)
            return true;
    }
    return false;
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

struct answer
profile_pre_enqueue(const struct profile *p, const struct pod_view *pod)
{
    profile_foreach(i, p, POINT_PRE_ENQUEUE)
    {
        const struct profile_entry *e = &p->entries[i];
        uint32_t reason = STRING_ID_NONE;
        enum verdict verdict;

        verdict = e->plugin->pre_enqueue(e->self, pod, &reason);
        if (verdict != VERDICT_OK)
            return answer_of(i, verdict, reason);
    }
    return ANSWER_OK;
}

/* Keeps the names that are in both lists. An empty list also restricts. */
static void
narrow(struct prefilter_result *all, struct prefilter_result *one)
{
    unsigned kept = 0;

    if (!one->has_names)
        return;
    if (!all->has_names) {
        *all = *one;
        return;
    }
    for (unsigned i = 0; i < all->count; i++)
        for (unsigned j = 0; j < one->count; j++)
            if (strcmp(all->names[i], one->names[j]) == 0) {
                all->names[kept++] = all->names[i];
                break;
            }
    all->count = kept;
    free(one->names);
}

static void
note_run(const struct profile *p, unsigned plugin, enum point point, unsigned count,
         enum verdict verdict, int64_t began_us)
{
    p->evaluations[point][plugin] += count;
    probe_end(p->handle, p->entries[plugin].plugin->name, point, verdict, began_us);
}

struct answer
profile_prefilter(const struct profile *p, struct cycle *c, struct prefilter_result *ret_result,
                  plugin_set *ret_narrowers)
{
    *ret_result = (struct prefilter_result){0};
    *ret_narrowers = 0;
    c->skipped_filters = 0;
    profile_foreach(i, p, POINT_PREFILTER)
    {
        const struct profile_entry *e = &p->entries[i];
        struct prefilter_result one = {0};
        uint32_t reason = STRING_ID_NONE;
        int64_t began_us = probe_begin(p->handle);
        enum verdict verdict;

        verdict = e->plugin->prefilter(e->self, c, &one, &reason);
        note_run(p, i, POINT_PREFILTER, 1, verdict, began_us);
        if (verdict == VERDICT_SKIP) {
            c->skipped_filters |= PLUGIN_BIT(i);
            continue;
        }
        if (verdict != VERDICT_OK)
            return answer_of(i, verdict, reason);
        if (one.has_names)
            *ret_narrowers |= PLUGIN_BIT(i);
        narrow(ret_result, &one);
    }
    return ANSWER_OK;
}

void
profile_add_pod(const struct profile *p, struct cycle *c, const struct pod_view *other,
                struct node_view *node)
{
    profile_foreach(i, p, POINT_PREFILTER) if (p->entries[i].plugin->add_pod != NULL
                                               && (c->skipped_filters & PLUGIN_BIT(i)) == 0)
        p->entries[i]
            .plugin->add_pod(p->entries[i].self, c, other, node);
}

void
profile_remove_pod(const struct profile *p, struct cycle *c, const struct pod_view *other,
                   const struct node_view *node)
{
    profile_foreach(i, p, POINT_PREFILTER) if (p->entries[i].plugin->remove_pod != NULL
                                               && (c->skipped_filters & PLUGIN_BIT(i)) == 0)
        p->entries[i]
            .plugin->remove_pod(p->entries[i].self, c, other, node);
}

#define FILTER_BATCH 256u

static void
run_filter(const struct profile_entry *e, const struct cycle *c,
           const struct node_view *const *nodes, unsigned count, struct answer *answers)
{
    if (e->plugin->filter != NULL) {
        e->plugin->filter(e->self, c, nodes, count, answers);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        answers[i].verdict =
            (uint8_t)e->plugin->filter_one(e->self, c, nodes[i], &answers[i].reason);
}

/* Runs one plugin after the other over the nodes that are left, so that each
 * plugin handles a batch in one tight loop.
 */
static void
filter_batch(const struct profile *p, plugin_set among, const struct cycle *c,
             const struct node_view *const *nodes, unsigned count, struct answer *answers)
{
    const struct node_view *left[FILTER_BATCH];
    struct answer given[FILTER_BATCH];
    uint16_t place[FILTER_BATCH];
    unsigned n_left = count;

    for (unsigned i = 0; i < count; i++) {
        left[i] = nodes[i];
        place[i] = (uint16_t)i;
        answers[i] = ANSWER_OK;
    }
    profile_foreach(plugin, p, POINT_FILTER)
    {
        unsigned kept = 0;
        int64_t began_us;

        if ((among & PLUGIN_BIT(plugin)) == 0 || n_left == 0)
            continue;
        for (unsigned i = 0; i < n_left; i++)
            given[i] = ANSWER_OK;
        began_us = probe_begin(p->handle);
        run_filter(&p->entries[plugin], c, left, n_left, given);
        note_run(p, plugin, POINT_FILTER, n_left, VERDICT_OK, began_us);
        for (unsigned i = 0; i < n_left; i++) {
            if (given[i].verdict == VERDICT_OK) {
                left[kept] = left[i];
                place[kept++] = place[i];
                continue;
            }
            answers[place[i]] = given[i];
            answers[place[i]].plugin = (uint8_t)plugin;
        }
        n_left = kept;
    }
}

void
profile_filter(const struct profile *p, plugin_set among, const struct cycle *c,
               const struct node_view *const *nodes, unsigned count, struct answer *answers)
{
    among &= p->filters & ~c->skipped_filters;
    for (unsigned at = 0; at < count; at += FILTER_BATCH) {
        unsigned n = count - at < FILTER_BATCH ? count - at : FILTER_BATCH;

        filter_batch(p, among, c, nodes + at, n, answers + at);
    }
}

bool
profile_has_nominated(const struct cycle *c, const struct node_view *node)
{
    for (uint32_t i = 0; i < node->ledger.n_nominated; i++)
        if (nominator_counts(nominator_pod(node, i), c->pod))
            return true;
    return false;
}

static struct answer
filter_with_nominated(const struct profile *p, const struct cycle *c, struct node_view *node)
{
    const struct node_view *one = node;
    struct cycle copy;
    struct answer answer;
    struct journal *journal = node->ledger.journal;
    size_t mark = journal_begin(journal);

    cycle_copy(&copy, c);
    for (uint32_t i = 0; i < node->ledger.n_nominated; i++) {
        struct pod_view *pod = nominator_pod(node, i);

        if (!nominator_counts(pod, c->pod))
            continue;
        node_view_add_pod(node, pod, LEDGER_NOMINATED);
        profile_add_pod(p, &copy, pod, node);
    }
    profile_filter(p, p->filters, &copy, &one, 1, &answer);
    cycle_fini(&copy);
    journal_roll_back(journal, mark);
    return answer;
}

struct answer
profile_filter_nominated(const struct profile *p, const struct cycle *c, struct node_view *node)
{
    const struct node_view *one = node;
    struct answer answer;

    if (profile_has_nominated(c, node)) {
        answer = filter_with_nominated(p, c, node);
        if (answer.verdict != VERDICT_OK)
            return answer;
    }
    profile_filter(p, p->filters, c, &one, 1, &answer);
    return answer;
}

enum verdict
profile_postfilter(const struct profile *p, struct cycle *c, const struct diagnosis *diagnosis,
                   const char **ret_nominated_node, struct strbuf *message)
{
    enum verdict verdict = VERDICT_REJECT;

    profile_foreach(i, p, POINT_POSTFILTER)
    {
        const struct profile_entry *e = &p->entries[i];
        int64_t began_us = probe_begin(p->handle);

        verdict = e->plugin->postfilter(e->self, c, diagnosis, ret_nominated_node, message);
        note_run(p, i, POINT_POSTFILTER, 1, verdict, began_us);
        if (verdict != VERDICT_REJECT)
            return verdict;
    }
    return verdict;
}

void
profile_prescore(const struct profile *p, plugin_set among, struct cycle *c,
                 const struct node_view *const *nodes, unsigned count)
{
    c->skipped_scores &= ~among;
    profile_foreach(i, p, POINT_PRESCORE)
    {
        const struct profile_entry *e = &p->entries[i];
        int64_t began_us;
        enum verdict verdict;

        if ((among & PLUGIN_BIT(i)) == 0)
            continue;
        began_us = probe_begin(p->handle);
        verdict = e->plugin->prescore(e->self, c, nodes, count);
        note_run(p, i, POINT_PRESCORE, 1, verdict, began_us);
        if (verdict == VERDICT_SKIP)
            c->skipped_scores |= PLUGIN_BIT(i);
    }
}

void
profile_score(const struct profile *p, unsigned plugin, const struct cycle *c,
              const struct node_view *const *nodes, unsigned count, int64_t *scores)
{
    const struct profile_entry *e = &p->entries[plugin];
    int64_t began_us = probe_begin(p->handle);

    if (e->plugin->score != NULL)
        e->plugin->score(e->self, c, nodes, count, scores);
    else
        for (unsigned i = 0; i < count; i++)
            scores[i] = e->plugin->score_one(e->self, c, nodes[i]);
    note_run(p, plugin, POINT_SCORE, count, VERDICT_OK, began_us);
}

int64_t
profile_normalize_one(int64_t score, int64_t most, bool reversed)
{
    if (most == 0)
        return reversed ? SCORE_MAX : score;
    score = score * SCORE_MAX / most;
    return reversed ? SCORE_MAX - score : score;
}

void
profile_normalize(const struct profile *p, unsigned plugin, const struct cycle *c,
                  const struct node_view *const *nodes, unsigned count, int64_t *scores)
{
    const struct profile_entry *e = &p->entries[plugin];
    enum normalization how = e->plugin->normalization;
    int64_t most = 0;

    if (how == NORMALIZE_CUSTOM)
        e->plugin->normalize(e->self, c, nodes, count, scores);
    if (how == NORMALIZE_CUSTOM || how == NORMALIZE_NOT)
        return;
    for (unsigned i = 0; i < count; i++)
        if (scores[i] > most)
            most = scores[i];
    for (unsigned i = 0; i < count; i++)
        scores[i] = profile_normalize_one(scores[i], most, how == NORMALIZE_REVERSED);
}

struct answer
profile_reserve(const struct profile *p, struct cycle *c, const struct node_view *node)
{
    profile_foreach(i, p, POINT_RESERVE)
    {
        const struct profile_entry *e = &p->entries[i];
        uint32_t reason = STRING_ID_NONE;
        int64_t began_us = probe_begin(p->handle);
        enum verdict verdict;

        if (e->plugin->reserve == NULL)
            continue;
        verdict = e->plugin->reserve(e->self, c, node, &reason);
        note_run(p, i, POINT_RESERVE, 1, verdict, began_us);
        if (verdict != VERDICT_OK)
            return answer_of(i, verdict, reason);
    }
    return ANSWER_OK;
}

void
profile_unreserve(const struct profile *p, struct cycle *c, const struct node_view *node)
{
    const struct point_order *order = &p->orders[POINT_RESERVE];

    for (unsigned turn = order->count; turn-- > 0;) {
        const struct profile_entry *e = &p->entries[order->items[turn]];

        if (e->plugin->unreserve != NULL)
            e->plugin->unreserve(e->self, c, node);
    }
}
