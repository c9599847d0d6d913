/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the place of a group's pods in the topology of the cluster.
 *
 * The smallest part of the cluster that holds the group is best: a leaf, or else the
 * smallest domain of the next wider level, and in it the fewest leaves. A group whose
 * PodGroup names a label goes into one domain of that label or nowhere.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/placing/group_placer_state.h"
#include "controller/scheduler/placing/pod_placer.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/group_domains.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/scheduler/state/pod_groups.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

/* How many domains of a level are tried for a group that need not be in one. */
#define TRIES 4u

/* After so many leaves where no pod fits, the others are taken as they come. */
#define VAIN_LEAVES 64u

/* ---- The domains ---- */

/* All nodes that have the label. */
static void
limit_to_level(struct group_placer *placer, struct cycle *c, const struct domain_level *level)
{
    placer->domain_nodes = xrealloc_array(placer->domain_nodes, placer->parts.snapshot->n_nodes + 1,
                                          sizeof(struct node_view *));
    c->n_among = 0;
    for (uint32_t i = 0; i < placer->parts.snapshot->n_nodes; i++)
        if (domain_level_of(level, placer->parts.snapshot->nodes[i]) != NULL)
            placer->domain_nodes[c->n_among++] = placer->parts.snapshot->nodes[i];
    c->among = placer->domain_nodes;
}

void
group_placer_limit_to_domain(struct group_placer *placer, struct cycle *c)
{
    const struct node_domain *domain;
    const struct domain_level *level = group_domains_find(
        placer->parts.domains, c->pod,
        pod_groups_topology_key(placer->parts.pod_groups, c->pod->object), &domain);

    if (level == NULL)
        return;
    if (domain == NULL) {
        limit_to_level(placer, c, level);
        return;
    }
    c->among = domain->nodes;
    c->n_among = domain->n_nodes;
}

/* ---- The search ---- */

struct domain_search {
    struct group_placer *placer;
    struct assignment_group *g;
    struct cache_mark *mark;
    struct domain_need need;
    unsigned n_placed;
    unsigned most_switches;
    plugin_set rejectors;  /* that rejected pods on nodes */
    struct answer refusal; /* of Reserve; or OK */
};

static struct domain_need
need_of(struct assignment *const *members, unsigned count, bool is_one_per_node)
{
    struct domain_need need = {.mcpu = INT64_MAX, .is_one_per_node = is_one_per_node};

    for (unsigned i = 0; i < count; i++)
        if (members[i]->cycle.pod->requests.cpu_milli < need.mcpu)
            need.mcpu = members[i]->cycle.pod->requests.cpu_milli;
    return need;
}

static bool
is_enough(const struct domain_search *d)
{
    return d->n_placed >= d->g->wanted;
}

/* False: the pod finds none of these nodes. */
static bool
place_one(struct domain_search *d, struct assignment *a, struct node_view *const *nodes,
          uint32_t n_nodes)
{
    struct group_placer *placer = d->placer;
    struct node_view *node;

    a->began_us = pod_placer_begin(placer->parts.pod_placer);
    a->cycle.among = nodes;
    a->cycle.n_among = n_nodes;
    node = pod_placer_find_node(placer->parts.pod_placer, a);
    a->cycle.among = NULL;
    if (node == NULL) {
        pod_placer_note_rejectors(placer->parts.pod_placer, a,
                                  node_finder_diagnosis(placer->parts.node_finder));
        d->rejectors |= a->queued->unschedulable | a->queued->pending;
        return false;
    }
    a->queued->unschedulable = a->queued->pending = 0;
    d->refusal = pod_placer_assume(placer->parts.pod_placer, a, node);
    if (d->refusal.verdict != VERDICT_OK)
        return false;
    if (d->need.is_one_per_node)
        cache_close_node(placer->parts.cache, node);
    pod_placer_end(placer->parts.pod_placer, a);
    d->n_placed++;
    return true;
}

/* Until the first that finds none. */
static void
place_some(struct domain_search *d, const struct node_domain *domain)
{
    for (unsigned i = 0; i < d->g->count && d->n_placed < d->g->count; i++)
        if (d->g->members[i]->node_name == NULL
            && !place_one(d, d->g->members[i], domain->nodes, domain->n_nodes))
            return;
}

/* Those that are left, wherever they fit among these nodes. */
static void
place_rest(struct domain_search *d, struct node_view *const *nodes, uint32_t n_nodes)
{
    const struct assignment_group *g = d->g;
    unsigned n_failed = 0;

    for (unsigned i = 0; i < g->count && d->refusal.verdict == VERDICT_OK; i++)
        if (g->members[i]->node_name == NULL && !place_one(d, g->members[i], nodes, n_nodes)
            && ++n_failed > g->count - g->wanted)
            return;
}

static void
take_all_back(struct domain_search *d)
{
    struct group_placer *placer = d->placer;

    group_placer_displace_all(placer, d->g);
    cache_roll_back(placer->parts.cache, *d->mark);
    cache_open_nodes(placer->parts.cache);
    group_placer_close_nodes(placer, d->g->members[0]->cycle.pod);
    *d->mark = cache_begin(placer->parts.cache);
    d->n_placed = 0;
}

/* ---- Leaves ---- */

struct leaf_choice {
    const struct node_domain *leaf;
    uint64_t room; /* 0: none, or it was taken already */
};

struct leaf_choices {
    struct leaf_choice *items;
    unsigned count;
};

/* The smallest that holds all that are left; if none does, the largest. */
static const struct node_domain *
take_leaf(struct leaf_choices *leaves, unsigned left)
{
    struct leaf_choice *best = NULL;
    const struct node_domain *leaf;

    for (unsigned i = 0; i < leaves->count; i++) {
        struct leaf_choice *one = &leaves->items[i];

        if (one->room == 0)
            continue;
        if (best == NULL
            || (one->room >= left ? best->room < left || one->room < best->room
                                  : one->room > best->room))
            best = one;
    }
    if (best == NULL)
        return NULL;
    leaf = best->leaf;
    best->room = 0;
    return leaf;
}

static void
place_by_leaves(struct domain_search *d, struct leaf_choices *leaves)
{
    const struct node_domain *leaf;
    unsigned vain = 0;

    while (d->n_placed < d->g->count && d->refusal.verdict == VERDICT_OK && vain < VAIN_LEAVES
           && (leaf = take_leaf(leaves, d->g->count - d->n_placed)) != NULL) {
        const unsigned before = d->n_placed;

        place_some(d, leaf);
        vain += d->n_placed == before;
    }
}

/* All leaves of which a node is in the domain. A leaf that is in several domains is left
 * out: the nodes are taken without regard to leaves then.
 */
static void
find_leaves_of(const struct node_domain *domain, const struct domain_level *leaf_level,
               const struct domain_need *need, struct leaf_choices *out)
{
    CLEANUP_FREE uint32_t *counts = xnew_array(uint32_t, leaf_level->n_domains + 1);

    out->items = xnew_array(struct leaf_choice, leaf_level->n_domains + 1);
    for (uint32_t i = 0; i < domain->n_nodes; i++) {
        const struct node_domain *leaf = domain_level_of(leaf_level, domain->nodes[i]);

        if (leaf != NULL && ++counts[leaf->index] == leaf->n_nodes)
            out->items[out->count++] = (struct leaf_choice){leaf, node_domain_most(leaf, need)};
    }
}

static void
find_all_leaves(const struct domain_level *leaf_level, const struct domain_need *need,
                struct leaf_choices *out)
{
    out->items = xnew_array(struct leaf_choice, leaf_level->n_domains + 1);
    for (unsigned i = 0; i < leaf_level->n_domains; i++)
        out->items[out->count++] = (struct leaf_choice){
            leaf_level->domains[i], node_domain_most(leaf_level->domains[i], need)};
}

/* ---- One domain after the other ---- */

static const struct domain_level *
leaf_level(const struct node_domains *domains)
{
    const unsigned count = node_domains_count(domains);

    return count > 0 ? node_domains_level(domains, count - 1) : NULL;
}

static bool
try_domain(struct domain_search *d, const struct domain_level *level,
           const struct node_domain *domain)
{
    const struct domain_level *leaf = leaf_level(group_domains_last(d->placer->parts.domains));
    struct leaf_choices leaves = {0};

    d->refusal = ANSWER_OK;
    if (leaf != NULL && level != leaf)
        find_leaves_of(domain, leaf, &d->need, &leaves);
    place_by_leaves(d, &leaves);
    free(leaves.items);
    if (d->n_placed < d->g->count)
        place_rest(d, domain->nodes, domain->n_nodes);
    if (is_enough(d) && d->refusal.verdict == VERDICT_OK)
        return true;
    take_all_back(d);
    return false;
}

static bool
is_before(const struct node_domain *one, const struct node_domain *other)
{
    return hostlist_compare(&(const char *){one->value}, &(const char *){other->value}) < 0;
}

/* The domain that holds the group and has the least room beyond it. */
static const struct node_domain *
next_domain(const struct domain_search *d, const struct domain_level *level, bool *is_tried)
{
    const struct node_domain *best = NULL;
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < level->n_domains; i++) {
        const struct node_domain *one = level->domains[i];
        uint64_t most;

        if (is_tried[i])
            continue;
        most = node_domain_most(one, &d->need);
        if (most < d->g->wanted) {
            is_tried[i] = true;
        } else if (most < least || (most == least && is_before(one, best))) {
            best = one;
            least = most;
        }
    }
    if (best != NULL)
        is_tried[best->index] = true;
    return best;
}

/* The best ones first; then all others, if all are to be tried. */
static bool
try_level(struct domain_search *d, const struct domain_level *level, bool tries_all)
{
    CLEANUP_FREE bool *is_tried = xnew_array(bool, level->n_domains + 1);
    const struct node_domain *domain;
    unsigned tries = 0, at = 0;

    for (;;) {
        if (tries < TRIES)
            domain = next_domain(d, level, is_tried);
        else
            domain = tries_all && at < level->n_domains ? level->domains[at++] : NULL;
        if (domain == NULL)
            return false;
        if ((tries >= TRIES && is_tried[domain->index])
            || node_domain_room(domain, &d->need) < d->g->wanted)
            continue;
        tries++;
        if (try_domain(d, level, domain))
            return true;
        if (d->refusal.verdict != VERDICT_OK)
            return false;
    }
}

/* ---- A group that must be in one domain ---- */

/* How many nodes have room for one of the pods. */
static unsigned
count_fitting(const struct domain_search *d, struct cycle *c, const struct node_domain *domain)
{
    const struct profile *profile = d->g->members[0]->profile;
    unsigned count = 0;

    for (uint32_t i = 0; i < domain->n_nodes; i++) {
        const struct node_view *node = domain->nodes[i];
        struct answer answer = ANSWER_OK;

        if (domain_need_room(&d->need, node) == 0)
            continue;
        profile_filter(profile, profile->filters, c, &node, 1, &answer);
        count += answer.verdict == VERDICT_OK;
    }
    return count;
}

static void
format_lack(const struct domain_search *d, const struct domain_level *level, struct strbuf *brief,
            struct strbuf *full)
{
    const struct assignment_group *g = d->g;
    struct assignment *first = g->members[0];
    const struct node_domain *best = NULL;
    unsigned most = 0, all = 0;

    strbuf_printf(brief, "no domain of the node label '%s' has room for %s%u pods of its group%s",
                  level->key, g->wanted == g->count ? "all " : "", g->wanted,
                  g->is_one_per_node ? ", each on its own node" : "");
    strbuf_add_text(full, brief->text);
    if (!node_finder_prepare(first->profile, &first->cycle))
        return;
    for (unsigned i = 0; i < level->n_domains; i++) {
        const unsigned count = count_fitting(d, &first->cycle, level->domains[i]);

        all += count;
        if (count > most || (count > 0 && count == most && is_before(level->domains[i], best))) {
            most = count;
            best = level->domains[i];
        }
    }
    if (best != NULL)
        strbuf_printf(full, ": %u node%s room, at most %u in one domain ('%s')", all,
                      all == 1 ? " has" : "s have", most, best->value);
    else
        strbuf_add_text(full, ": no node has room");
}

static void
refuse(struct domain_search *d, const struct domain_level *level)
{
    CLEANUP_STRBUF struct strbuf brief = STRBUF_INIT, full = STRBUF_INIT;
    struct assignment_group *g = d->g;
    struct assignment *first = g->members[0];

    g->failed = first;
    g->lacks_domain = true;
    g->answer = (struct answer){
        .verdict = VERDICT_REJECT,
        .plugin = PLUGIN_NONE,
        .reason = STRING_ID_NONE,
    };
    first->queued->unschedulable = first->profile->rooms | first->profile->timed | d->rejectors;
    first->queued->pending = 0;
    if (d->placer->parts.is_simulation)
        return;
    format_lack(d, level, &brief, &full);
    free(first->error);
    first->error = xstrdup(full.text);
    g->cause = job_reason_name(JOB_REASON_RESOURCES);
    g->cause_words = xstrdup(full.text);
    g->cause_brief = xstrdup(brief.text);
}

static void
place_in_one(struct domain_search *d, const char *key)
{
    struct node_domains *domains = group_domains_last(d->placer->parts.domains);
    const struct domain_level *level = node_domains_find(domains, d->placer->parts.snapshot, key);
    const struct node_domain *taken =
        group_domains_taken(d->placer->parts.domains, level, d->g->members[0]->cycle.pod);
    const int index = node_domains_index(domains, key);
    bool is_placed = false;

    if (taken != NULL)
        is_placed = try_domain(d, level, taken);
    else if (index < 0)
        is_placed = try_level(d, level, true);
    for (int i = (int)node_domains_count(domains) - 1;
         taken == NULL && !is_placed && i >= index && index >= 0; i--)
        is_placed = try_level(d, node_domains_level(domains, (unsigned)i), i == index);
    if (is_placed)
        return;
    if (d->refusal.verdict != VERDICT_OK) {
        d->g->answer = d->refusal;
        d->g->failed = d->g->members[0];
    } else {
        refuse(d, level);
    }
}

/* ---- A group that had better be in one domain ---- */

static bool
place_near(struct domain_search *d)
{
    const struct node_domains *domains = group_domains_last(d->placer->parts.domains);
    const struct domain_level *leaf = leaf_level(domains);
    struct leaf_choices leaves = {0};

    if (leaf == NULL)
        return false;
    for (unsigned i = node_domains_count(domains); i-- > 0;) {
        if (try_level(d, node_domains_level(domains, i), false)) {
            if (group_placer_count_switches(d->placer, d->g) <= d->most_switches)
                return true;
            take_all_back(d);
        }
        if (d->refusal.verdict != VERDICT_OK)
            return false;
    }
    find_all_leaves(leaf, &d->need, &leaves);
    place_by_leaves(d, &leaves);
    free(leaves.items);
    if (d->n_placed < d->g->count && d->n_placed > 0)
        place_rest(d, NULL, 0);
    if (is_enough(d) && d->refusal.verdict == VERDICT_OK
        && group_placer_count_switches(d->placer, d->g) <= d->most_switches)
        return true;
    take_all_back(d);
    return false;
}

/* As long as it waits for few switches, it is known first whether there are any. */
static bool
place_within_limit(struct domain_search *d)
{
    d->most_switches = group_placer_most_switches(d->placer, d->g->members[0]->cycle.pod);
    if (place_near(d))
        return true;
    if (d->most_switches == UINT_MAX)
        return false;
    d->most_switches = UINT_MAX;
    return place_near(d);
}

/* Whether the leaves may have room for all: most attempts of a wide group fail. */
static bool
may_hold(const struct domain_search *d)
{
    const struct domain_level *level = leaf_level(group_domains_last(d->placer->parts.domains));
    uint64_t room = 0;

    for (unsigned i = 0; level != NULL && i < level->n_domains && room < d->g->wanted; i++)
        room += node_domain_most(level->domains[i], &d->need);
    return room >= d->g->wanted && d->g->wanted > 0;
}

/* Whether a node is there for the first pod, and enough free CPUs that are not reserved for
 * others: a waiting group learns from what is kept, and not node by node, that it has no
 * room.
 */
static bool
may_start(const struct domain_search *d)
{
    return pod_placer_find_node(d->placer->parts.pod_placer, d->g->members[0]) != NULL
           && group_placer_has_room(d->placer, d->g);
}

bool
group_placer_place(struct group_placer *placer, struct assignment_group *g, struct cache_mark *mark)
{
    struct assignment *first = g->members[0];
    const char *key = pod_groups_topology_key(placer->parts.pod_groups, first->cycle.pod->object);
    struct domain_search d = {.placer = placer, .g = g, .mark = mark, .refusal = ANSWER_OK};

    if (key == NULL && node_domains_count(group_domains_last(placer->parts.domains)) == 0)
        return false;
    group_domains_now(placer->parts.domains);
    d.need = need_of(g->members, g->count, g->is_one_per_node);
    if (key != NULL) {
        if (pod_placer_find_node(placer->parts.pod_placer, first)
            == NULL) /* its cause is another one */
            return false;
        place_in_one(&d, key);
    } else if (!may_hold(&d) || !may_start(&d) || !place_within_limit(&d)) {
        return false;
    }
    for (unsigned i = 0; i < g->count && g->answer.verdict == VERDICT_OK; i++)
        g->n_left_out += g->members[i]->node_name == NULL;
    return true;
}

bool
group_placer_may_find_domain(struct group_placer *placer, const struct pod_view *pod,
                             const struct domain_need *need, unsigned wanted)
{
    const char *key = pod_groups_topology_key(placer->parts.pod_groups, pod->object);
    const struct domain_level *level;

    if (key == NULL)
        return true;
    level =
        node_domains_find(group_domains_now(placer->parts.domains), placer->parts.snapshot, key);
    for (unsigned i = 0; i < level->n_domains; i++)
        if (node_domain_most(level->domains[i], need) >= wanted)
            return true;
    return false;
}
