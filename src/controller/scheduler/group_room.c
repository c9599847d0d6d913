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
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/queue/queued_group.h"
#include "controller/scheduler/scheduler_state.h"
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
scheduler_close_nodes(struct scheduler *s, const struct pod_view *pod)
{
    bool is_one_per_node = pod_groups_goes_one_per_node(s->pod_groups, pod->object);

    if (is_one_per_node)
        cache_close_nodes_of_group(s->cache, pod);
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
count_room(const struct scheduler *s, const struct room_count *r, unsigned most)
{
    const struct profile *p = r->profile;
    int64_t room = 0;

    for (uint32_t i = 0; i < s->snapshot.n_nodes && room < most; i++) {
        const struct node_view *node = s->snapshot.nodes[i];
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
has_room(const struct scheduler *s, const struct assignment_group *g, unsigned wanted)
{
    const struct assignment *first = g->members[0];
    int64_t least_mcpu = INT64_MAX;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&least_mcpu, g->members[i]->cycle.pod);
    return least_mcpu <= 0
           || count_room(s,
                         &(struct room_count){first->profile, &first->cycle, least_mcpu,
                                              g->is_one_per_node},
                         wanted)
                  >= wanted;
}

bool
scheduler_has_group_room(const struct scheduler *s, const struct assignment_group *g)
{
    return has_room(s, g, g->wanted);
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
scheduler_check_group_room(struct scheduler *s, struct assignment_group *g)
{
    struct assignment *first = g->members[0];

    if (first->asks_nodes || planner_may_reserve(s->planner, first->queued)
        || has_room(s, g, g->wanted - 1))
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
scheduler_group_sleeps_on(struct queued_pod *queued, void *context)
{
    struct scheduler *s = context;
    const struct queued_group *g = queued->queued_group;
    bool has_reservation = planner_find(s->planner, queued) != NULL;
    struct room_count count = {.profile = queued->profile, .mcpu = INT64_MAX};
    struct cycle cycle;
    bool is_enough;

    for (unsigned i = 0; i < g->count; i++)
        take_least(&count.mcpu, g->members[i]->pod);
    if (count.mcpu <= 0 || (has_reservation && planner_moves(s->planner, queued)))
        return false;
    count.is_one_per_node = scheduler_close_nodes(s, queued->pod);
    cache_update_snapshot(s->cache, &s->snapshot);
    planner_bind(s->planner, queued);
    cycle_init(&cycle, queued->pod, &s->snapshot);
    count.cycle = &cycle;
    is_enough = scheduler_may_find_domain(s, queued->pod,
                                          &(struct domain_need){count.mcpu, count.is_one_per_node},
                                          g->wanted)
                && count_room(s, &count, g->wanted) >= g->wanted;
    cycle_fini(&cycle);
    cache_open_nodes(s->cache);
    if (!is_enough && has_reservation)
        queued->passed_over = PASSED_OVER;
    return !is_enough;
}

void
scheduler_displace_all(struct scheduler *s, const struct assignment_group *g)
{
    for (unsigned i = g->count; i-- > 0;)
        scheduler_displace(s, g->members[i]);
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
wait_of(const struct scheduler *s, const struct pod_view *pod, struct group_switches *terms)
{
    const int64_t most_us = topology_levels_wait_us(s->settings.topology);

    if (s->settings.is_simulation || node_domains_count(group_domains_last(s->domains)) == 0
        || !pod_groups_switches(s->pod_groups, pod->object, terms))
        return 0;
    return terms->since_us
           + (terms->wait_us >= 0 && terms->wait_us < most_us ? terms->wait_us : most_us);
}

unsigned
scheduler_most_switches(const struct scheduler *s, const struct pod_view *pod)
{
    struct group_switches terms;
    const int64_t until_us = wait_of(s, pod, &terms);

    return until_us > clock_real_us(s->handle.clock) && terms.most < UINT_MAX ? (unsigned)terms.most
                                                                              : UINT_MAX;
}

/* A node that is in no leaf counts as one. */
unsigned
scheduler_count_switches(const struct scheduler *s, const struct assignment_group *g)
{
    const unsigned n_levels = node_domains_count(group_domains_last(s->domains));
    CLEANUP_FREE bool *is_taken = NULL;
    const struct domain_level *level;
    unsigned count = 0;

    if (n_levels == 0)
        return 0;
    level = node_domains_level(group_domains_last(s->domains), n_levels - 1);
    is_taken = xnew_array(bool, level->n_domains + 1);
    for (unsigned i = 0; i < g->count; i++) {
        const char *name = g->members[i]->node_name;
        const struct node_domain *leaf =
            name != NULL ? domain_level_of(level, cache_find_node(s->cache, name)) : NULL;

        if (leaf != NULL ? !is_taken[leaf->index] : name != NULL)
            count++;
        if (leaf != NULL)
            is_taken[leaf->index] = true;
    }
    return count;
}

/* An attempt is due when the wait is over, whatever happens in the cluster. */
static void
note_wait(struct scheduler *s, const struct pod_view *pod, int64_t until_us)
{
    struct switch_wait *w = xnew(struct switch_wait);
    char key[OBJECT_KEY_SIZE];

    object_key(pod->object, key);
    w->until_us = until_us;
    w->namespace = xstrdup(pod->namespace);
    w->name = xstrdup(pod->name);
    if (s->switch_waits == NULL)
        s->switch_waits = map_new();
    if (map_count(s->switch_waits) == 0 || until_us < s->next_switch_us)
        s->next_switch_us = until_us;
    free_wait(map_put(s->switch_waits, key, w));
}

void
scheduler_tick_switches(struct scheduler *s)
{
    const int64_t now_us = clock_real_us(s->handle.clock);
    int64_t next_us = INT64_MAX;
    struct map *left;
    size_t at = 0;
    void *value;
    const char *key;

    if (s->switch_waits == NULL || now_us < s->next_switch_us)
        return;
    left = map_new();
    while (map_next(s->switch_waits, &at, &key, &value)) {
        struct switch_wait *w = value;

        if (w->until_us > now_us) {
            next_us = w->until_us < next_us ? w->until_us : next_us;
            map_put(left, key, w);
            continue;
        }
        queue_activate(s->queue, w->namespace, w->name);
        free_wait(w);
    }
    map_free(s->switch_waits);
    s->switch_waits = left;
    s->next_switch_us = next_us;
}

void
scheduler_forget_switches(struct scheduler *s)
{
    size_t at = 0;
    void *w;

    while (s->switch_waits != NULL && map_next(s->switch_waits, &at, NULL, &w))
        free_wait(w);
    map_free(s->switch_waits);
    s->switch_waits = NULL;
}

static bool
has_too_many_switches(struct scheduler *s, struct assignment_group *g)
{
    struct assignment *first = g->members[0];
    const unsigned most = scheduler_most_switches(s, first->cycle.pod);
    struct group_switches terms;
    unsigned count;
    char time[TIME_TEXT_SIZE];
    int64_t until_us;

    if (most == UINT_MAX)
        return false;
    count = scheduler_count_switches(s, g);
    if (count <= most)
        return false;
    until_us = wait_of(s, first->cycle.pod, &terms);
    note_wait(s, first->cycle.pod, until_us);
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
scheduler_find_domains_told(struct scheduler *s, struct assignment *a)
{
    const struct string_map *annotations = &a->cycle.pod->object->meta->annotations;
    const char *variables = string_map_find(annotations, ANNOTATION_VARIABLES);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct node_view *node;

    if (variables == NULL || strcmp(variables, "slurm") != 0
        || node_domains_count(group_domains_last(s->domains)) == 0)
        return;
    node = cache_find_node(s->cache, a->node_name);
    if (node == NULL || node->object == NULL)
        return;
    for (unsigned i = 0; i < node_domains_count(group_domains_last(s->domains)); i++) {
        const char *value =
            string_map_find(&node->object->meta->labels,
                            node_domains_level(group_domains_last(s->domains), i)->key);

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
place(struct scheduler *s, struct assignment *a, const char *node_name)
{
    struct node_view *node;

    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_fini(&a->cycle);
    cycle_init(&a->cycle, a->queued->pod, &s->snapshot);
    node = cache_find_node(s->cache, node_name);
    return node != NULL && node_finder_fits(a->profile, &a->cycle, node)
           && scheduler_assume(s, a, node).verdict == VERDICT_OK;
}

/* Takes all of them back, then places them. */
static bool
place_all(struct scheduler *s, struct cache_mark *mark, struct assignment **members,
          char *const *nodes, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        scheduler_displace(s, members[i]);
    cache_roll_back(s->cache, *mark);
    *mark = cache_begin(s->cache);
    for (unsigned i = 0; i < count; i++)
        if (!place(s, members[i], nodes[i]))
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
sort_nodes(const struct scheduler *s, char **names, unsigned count)
{
    CLEANUP_FREE struct ranked_node *nodes = xnew_array(struct ranked_node, count + 1);

    for (unsigned i = 0; i < count; i++) {
        const struct node_view *node = cache_find_node(s->cache, names[i]);

        nodes[i].name = names[i];
        for (unsigned l = 0; l < node_domains_count(group_domains_last(s->domains)); l++) {
            const struct node_domain *domain =
                domain_level_of(node_domains_level(group_domains_last(s->domains), l), node);

            nodes[i].values[l] = domain != NULL ? domain->value : NULL;
        }
    }
    qsort(nodes, count, sizeof(*nodes), compare_ranked);
    for (unsigned i = 0; i < count; i++)
        names[i] = nodes[i].name;
}

/* False: a member does not fit where it is to go, and some have no node any more. */
static bool
order_group(struct scheduler *s, struct assignment_group *g, struct cache_mark *mark)
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
    sort_nodes(s, sorted, count);
    for (unsigned i = 0; i < count && is_sorted; i++)
        is_sorted = sorted[i] == found[i];
    /* A pod that differs from the others, by its volumes, may not fit there. */
    is_placed = is_sorted || place_all(s, mark, members, sorted, count)
                || place_all(s, mark, members, found, count);
    for (unsigned i = 0; i < count; i++)
        free(found[i]);
    return is_placed;
}

void
scheduler_settle_group(struct scheduler *s, struct assignment_group *g, struct cache_mark *mark)
{
    if (has_too_many_switches(s, g) || order_group(s, g, mark))
        return;
    g->failed = g->members[g->count - 1];
    free(g->failed->error);
    g->failed->error = xstrdup("a pod does not fit on the node of an equal pod");
    g->answer = (struct answer){VERDICT_ERROR, PLUGIN_NONE, STRING_ID_NONE};
}
