/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a pod group has room, whichever nodes its pods would take; which nodes its pods
 * leave to others; and when it has found nodes, whether these have few enough switches, and
 * which of its pods gets which.
 *
 * Room is counted by CPUs only, which is cheap: most attempts of a wide group end here.
 *
 * Each pod of a Job with its own node has its index as rank. Programs sort host
 * lists, and neighbours in a rack have neighbouring names, so the order of the
 * ranks is that of the domains, the widest level first, and in a leaf that of the names.
 * The cycle has found the nodes one after the other, best first; now that all are known,
 * the pods are placed again, each where its index belongs.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/placing/group_placer_state.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/group_domains.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/scheduler/state/pod_groups.h"
#include "controller/scheduler/state/topology_levels.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

bool
group_placer_close_nodes(struct group_placer *placer, const struct pod_view *pod)
{
    bool is_one_per_node = pod_groups_goes_one_per_node(placer->parts.pod_groups, pod->object);

    if (is_one_per_node)
        cache_close_nodes_of_group(placer->parts.cache, pod);
    return is_one_per_node;
}

/* The pods to be counted: like the cycle's, of that much CPU. */
struct room_count {
    const struct profile *profile;
    const struct cycle *cycle;
    int64_t mcpu;
    bool is_one_per_node;
};

/* For how many of the pods the nodes have room, at most `most`, without nodes
 * that are closed to them or that a reservation keeps them off.
 */
static unsigned
count_room(const struct group_placer *placer, const struct room_count *r, unsigned most)
{
    const struct profile *p = r->profile;
    int64_t room = 0;

    for (uint32_t i = 0; i < placer->parts.snapshot->n_nodes && room < most; i++) {
        const struct node_view *node = placer->parts.snapshot->nodes[i];
        struct answer answer = ANSWER_OK;
        int64_t free_mcpu = node->allocatable.cpu_milli - node->ledger.requested.cpu_milli;

        if (free_mcpu < r->mcpu || node->is_closed)
            continue;
        if (node->ledger.n_future > 0 && p->timed != 0)
            profile_filter(p, p->timed, r->cycle, &node, 1, &answer);
        if (answer.verdict == VERDICT_OK)
            room += r->is_one_per_node ? 1 : free_mcpu / r->mcpu;
    }
    return room < most ? (unsigned)room : most;
}

static void
take_least(int64_t *least_mcpu, const struct pod_view *pod)
{
    if (pod->requests.cpu_milli < *least_mcpu)
        *least_mcpu = pod->requests.cpu_milli;
}

static bool
has_room(const struct group_placer *placer, const struct assignment_group *g, unsigned wanted)
{
    const struct assignment *first = g->members[0];
    int64_t least_mcpu = INT64_MAX;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&least_mcpu, g->members[i]->cycle.pod);
    return least_mcpu <= 0
           || count_room(placer,
                         &(struct room_count){first->profile, &first->cycle, least_mcpu,
                                              g->is_one_per_node},
                         wanted)
                  >= wanted;
}

bool
group_placer_has_room(const struct group_placer *placer, const struct assignment_group *g)
{
    return has_room(placer, g, g->wanted);
}

static char *
format_lack(const struct assignment_group *g)
{
    return xasprintf("there is not enough room for %s%u pods of its group%s",
                     g->wanted == g->count ? "all " : "", g->wanted,
                     g->is_one_per_node ? ", each on its own node" : "");
}

/* Most attempts of a wide group end here, after its first member has found a
 * node: the nodes have not enough free CPUs for the others, wherever they go. A
 * group that may get a reservation goes on, to learn which nodes lack room.
 */
struct answer
group_placer_check_room(struct group_placer *placer, struct assignment_group *g)
{
    struct assignment *first = g->members[0];

    if (first->asks_nodes || planner_may_reserve(placer->parts.planner, first->queued)
        || has_room(placer, g, g->wanted - 1))
        return ANSWER_OK;
    first->queued->unschedulable = first->profile->rooms | first->profile->timed;
    first->queued->pending = 0;
    g->lacks_room = true;
    first->error = format_lack(g);
    return (struct answer){
        .verdict = VERDICT_REJECT,
        .plugin = PLUGIN_NONE,
        .reason = STRING_ID_NONE,
    };
}

/* True: a cycle would fail in the same way as the last one. */
bool
group_placer_sleeps_on(struct group_placer *placer, struct queued_pod *queued)
{
    const struct queued_group *g = queued->queued_group;
    bool has_reservation = planner_find(placer->parts.planner, queued) != NULL;
    struct room_count count = {.profile = queued->profile, .mcpu = INT64_MAX};
    struct cycle cycle;
    bool is_enough;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&count.mcpu, g->members[i]->pod);
    if (count.mcpu <= 0 || (has_reservation && planner_moves(placer->parts.planner, queued)))
        return false;
    count.is_one_per_node = group_placer_close_nodes(placer, queued->pod);
    cache_update_snapshot(placer->parts.cache, placer->parts.snapshot);
    planner_bind(placer->parts.planner, queued);
    cycle_init(&cycle, queued->pod, placer->parts.snapshot);
    count.cycle = &cycle;
    is_enough = group_placer_may_find_domain(
                    placer, queued->pod, &(struct domain_need){count.mcpu, count.is_one_per_node},
                    g->wanted)
                && count_room(placer, &count, g->wanted) >= g->wanted;
    cycle_fini(&cycle);
    cache_open_nodes(placer->parts.cache);
    if (!is_enough && has_reservation)
        queued->passed_over = PASSED_OVER;
    return !is_enough;
}

void
group_placer_displace_all(struct group_placer *placer, const struct assignment_group *g)
{
    for (unsigned i = g->count; i-- > 0;)
        pod_placer_displace(placer->parts.pod_placer, g->members[i]);
}

/* ---- Switches ---- */

struct switch_wait {
    int64_t until_us;
    char *namespace, *name; /* of the first pod */
};

static void
free_wait(struct switch_wait *w)
{
    if (w == NULL)
        return;
    free(w->namespace);
    free(w->name);
    free(w);
}

/* Until when the group waits for nodes of so few switches; 0: it does not. */
static int64_t
wait_of(const struct group_placer *placer, const struct pod_view *pod, struct group_switches *terms)
{
    const int64_t most_us = topology_levels_wait_us(placer->parts.topology);

    if (placer->parts.is_simulation
        || node_domains_count(group_domains_last(placer->parts.domains)) == 0
        || !pod_groups_switches(placer->parts.pod_groups, pod->object, terms))
        return 0;
    return terms->since_us
           + (terms->wait_us >= 0 && terms->wait_us < most_us ? terms->wait_us : most_us);
}

unsigned
group_placer_most_switches(const struct group_placer *placer, const struct pod_view *pod)
{
    struct group_switches terms;
    const int64_t until_us = wait_of(placer, pod, &terms);

    return until_us > clock_real_us(placer->parts.handle->clock) && terms.most < UINT_MAX
               ? (unsigned)terms.most
               : UINT_MAX;
}

/* A node that is in no leaf counts as one. */
unsigned
group_placer_count_switches(const struct group_placer *placer, const struct assignment_group *g)
{
    const unsigned n_levels = node_domains_count(group_domains_last(placer->parts.domains));
    CLEANUP_FREE bool *is_taken = NULL;
    const struct domain_level *level;
    unsigned count = 0;

    if (n_levels == 0)
        return 0;
    level = node_domains_level(group_domains_last(placer->parts.domains), n_levels - 1);
    is_taken = xnew_array(bool, level->n_domains + 1);
    for (unsigned i = 0; i < g->count; i++) {
        const char *name = g->members[i]->node_name;
        const struct node_domain *leaf =
            name != NULL ? domain_level_of(level, cache_find_node(placer->parts.cache, name))
                         : NULL;

        if (leaf != NULL ? !is_taken[leaf->index] : name != NULL)
            count++;
        if (leaf != NULL)
            is_taken[leaf->index] = true;
    }
    return count;
}

/* An attempt is due when the wait is over, whatever happens in the cluster. */
static void
note_wait(struct group_placer *placer, const struct pod_view *pod, int64_t until_us)
{
    struct switch_wait *w = xnew(struct switch_wait);
    char key[OBJECT_KEY_SIZE];

    object_key(pod->object, key);
    w->until_us = until_us;
    w->namespace = xstrdup(pod->namespace);
    w->name = xstrdup(pod->name);
    if (placer->switch_waits == NULL)
        placer->switch_waits = map_new();
    if (map_count(placer->switch_waits) == 0 || until_us < placer->next_switch_us)
        placer->next_switch_us = until_us;
    free_wait(map_put(placer->switch_waits, key, w));
}

void
group_placer_tick(struct group_placer *placer)
{
    const int64_t now_us = clock_real_us(placer->parts.handle->clock);
    int64_t next_us = INT64_MAX;
    struct map *left;
    size_t at = 0;
    void *value;
    const char *key;

    if (placer->switch_waits == NULL || now_us < placer->next_switch_us)
        return;
    left = map_new();
    while (map_next(placer->switch_waits, &at, &key, &value)) {
        struct switch_wait *w = value;

        if (w->until_us > now_us) {
            next_us = w->until_us < next_us ? w->until_us : next_us;
            map_put(left, key, w);
            continue;
        }
        queue_activate(placer->parts.queue, w->namespace, w->name);
        free_wait(w);
    }
    map_free(placer->switch_waits);
    placer->switch_waits = left;
    placer->next_switch_us = next_us;
}

static void
forget_switches(struct group_placer *placer)
{
    size_t at = 0;
    void *w;

    while (placer->switch_waits != NULL && map_next(placer->switch_waits, &at, NULL, &w))
        free_wait(w);
    map_free(placer->switch_waits);
    placer->switch_waits = NULL;
}

static bool
has_too_many_switches(struct group_placer *placer, struct assignment_group *g)
{
    struct assignment *first = g->members[0];
    const unsigned most = group_placer_most_switches(placer, first->cycle.pod);
    struct group_switches terms;
    unsigned count;
    char time[TIME_TEXT_SIZE];
    int64_t until_us;

    if (most == UINT_MAX)
        return false;
    count = group_placer_count_switches(placer, g);
    if (count <= most)
        return false;
    until_us = wait_of(placer, first->cycle.pod, &terms);
    note_wait(placer, first->cycle.pod, until_us);
    time_format(until_us, false, time);
    g->failed = first;
    g->lacks_domain = g->waits_for_switches = true;
    g->answer = (struct answer){VERDICT_REJECT, PLUGIN_NONE, STRING_ID_NONE};
    first->queued->unschedulable = first->profile->rooms | first->profile->timed;
    first->queued->pending = 0;
    free(first->error);
    g->cause = job_reason_name(JOB_REASON_RESOURCES);
    g->cause_brief =
        xasprintf("waits until %s for nodes with at most %u switch%s (--switches), and "
                  "then starts on any",
                  time, most, most == 1 ? "" : "es");
    g->cause_words = xasprintf("%s; those that are free now have %u", g->cause_brief, count);
    first->error = xstrdup(g->cause_words);
    return true;
}

/* ---- For the variables of the job ---- */

void
group_placer_set_domains_told(struct group_placer *placer, struct assignment *a)
{
    const struct string_map *annotations = &a->cycle.pod->object->meta->annotations;
    const char *variables = string_map_find(annotations, ANNOTATION_VARIABLES);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct node_view *node;

    if (variables == NULL || strcmp(variables, "slurm") != 0
        || node_domains_count(group_domains_last(placer->parts.domains)) == 0)
        return;
    node = cache_find_node(placer->parts.cache, a->node_name);
    if (node == NULL || node->object == NULL)
        return;
    for (unsigned i = 0; i < node_domains_count(group_domains_last(placer->parts.domains)); i++) {
        const char *value =
            string_map_find(&node->object->meta->labels,
                            node_domains_level(group_domains_last(placer->parts.domains), i)->key);

        if (value != NULL && *value != '\0')
            strbuf_printf(&out, "%s%s", out.length > 0 ? "/" : "", value);
    }
    free(a->domains);
    a->domains = out.length > 0 ? xstrdup(out.text) : NULL;
}

/* ---- Ranks ---- */

static int
compare_index(const void *a, const void *b)
{
    const struct assignment *x = *(struct assignment *const *)a;
    const struct assignment *y = *(struct assignment *const *)b;
    const int64_t i = x->cycle.pod->job_index, j = y->cycle.pod->job_index;

    return (i > j) - (i < j);
}

/* Only pods of one Job have indexes that can be compared. */
static bool
has_ranks(const struct assignment_group *g)
{
    const int64_t job = g->members[0]->cycle.pod->job_id;

    if (!g->is_one_per_node || g->count < 2 || job == 0)
        return false;
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->cycle.pod->job_id != job || g->members[i]->asks_nodes)
            return false;
    return true;
}

static bool
place(struct group_placer *placer, struct assignment *a, const char *node_name)
{
    struct node_view *node;

    cache_update_snapshot(placer->parts.cache, placer->parts.snapshot);
    cycle_fini(&a->cycle);
    cycle_init(&a->cycle, a->queued->pod, placer->parts.snapshot);
    node = cache_find_node(placer->parts.cache, node_name);
    return node != NULL && node_finder_fits(a->profile, &a->cycle, node)
           && pod_placer_assume(placer->parts.pod_placer, a, node).verdict == VERDICT_OK;
}

/* Takes all of them back, then places them. */
static bool
place_all(struct group_placer *placer, struct cache_mark *mark, struct assignment **members,
          char *const *nodes, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        pod_placer_displace(placer->parts.pod_placer, members[i]);
    cache_roll_back(placer->parts.cache, *mark);
    *mark = cache_begin(placer->parts.cache);
    for (unsigned i = 0; i < count; i++)
        if (!place(placer, members[i], nodes[i]))
            return false;
    return true;
}

/* The members that were left out have no node. */
static unsigned
list_placed(const struct assignment_group *g, struct assignment **ret_members)
{
    unsigned count = 0;

    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->node_name != NULL)
            ret_members[count++] = g->members[i];
    return count;
}

struct ranked_node {
    const char *values[DOMAIN_LEVELS_MAX]; /* NULL: the node lacks the label */
    char *name;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked_node *x = a, *y = b;

    for (unsigned i = 0; i < DOMAIN_LEVELS_MAX; i++) {
        int order;

        if (x->values[i] == NULL || y->values[i] == NULL) {
            if (x->values[i] != y->values[i])
                return x->values[i] == NULL ? 1 : -1;
            continue;
        }
        order = hostlist_compare(&x->values[i], &y->values[i]);
        if (order != 0)
            return order;
    }
    return hostlist_compare(&(const char *){x->name}, &(const char *){y->name});
}

static void
sort_nodes(const struct group_placer *placer, char **names, unsigned count)
{
    CLEANUP_FREE struct ranked_node *nodes = xnew_array(struct ranked_node, count + 1);

    for (unsigned i = 0; i < count; i++) {
        const struct node_view *node = cache_find_node(placer->parts.cache, names[i]);

        nodes[i].name = names[i];
        for (unsigned l = 0; l < node_domains_count(group_domains_last(placer->parts.domains));
             l++) {
            const struct node_domain *domain = domain_level_of(
                node_domains_level(group_domains_last(placer->parts.domains), l), node);

            nodes[i].values[l] = domain != NULL ? domain->value : NULL;
        }
    }
    qsort(nodes, count, sizeof(*nodes), compare_ranked);
    for (unsigned i = 0; i < count; i++)
        names[i] = nodes[i].name;
}

/* False: a member does not fit where it is to go, and some have no node any more. */
static bool
order_group(struct group_placer *placer, struct assignment_group *g, struct cache_mark *mark)
{
    CLEANUP_FREE struct assignment **members = NULL;
    CLEANUP_FREE char **sorted = NULL, **found = NULL;
    bool is_sorted = true, is_placed;
    unsigned count;

    if (!has_ranks(g))
        return true;
    members = xnew_array(struct assignment *, g->count);
    sorted = xnew_array(char *, g->count);
    found = xnew_array(char *, g->count);
    count = list_placed(g, members);
    qsort(members, count, sizeof(*members), compare_index);
    for (unsigned i = 0; i < count; i++)
        sorted[i] = found[i] = xstrdup(members[i]->node_name);
    sort_nodes(placer, sorted, count);
    for (unsigned i = 0; i < count && is_sorted; i++)
        is_sorted = sorted[i] == found[i];
    /* A pod that differs from the others, by its volumes, may not fit there. */
    is_placed = is_sorted || place_all(placer, mark, members, sorted, count)
                || place_all(placer, mark, members, found, count);
    for (unsigned i = 0; i < count; i++)
        free(found[i]);
    return is_placed;
}

void
group_placer_settle(struct group_placer *placer, struct assignment_group *g,
                    struct cache_mark *mark)
{
    if (has_too_many_switches(placer, g) || order_group(placer, g, mark))
        return;
    g->failed = g->members[g->count - 1];
    free(g->failed->error);
    g->failed->error = xstrdup("a pod does not fit on the node of an equal pod");
    g->answer = (struct answer){VERDICT_ERROR, PLUGIN_NONE, STRING_ID_NONE};
}

/* ---- Life ---- */

void
group_placer_free(struct group_placer *placer)
{
    if (placer == NULL)
        return;
    forget_switches(placer);
    free(placer->domain_nodes);
    free(placer);
}

struct group_placer *
group_placer_new(const struct group_placer_parts *parts)
{
    struct group_placer *placer = xnew(struct group_placer);

    placer->parts = *parts;
    return placer;
}
