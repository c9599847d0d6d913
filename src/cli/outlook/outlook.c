/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/outlook.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outlook/bid.h"
#include "cli/outlook/stowage.h"
#include "cli/outlook/survey.h"
#include "cli/outlook/tenancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

struct look {
    const struct pod_spec *spec;
    const struct node *node;
    struct tenancy *tenancy;
    struct outlook_node *result;
};

static bool
is_text(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

static void
say(struct look *l, enum outlook_chance chance, const char *format, ...)
    PRINTF(3, 4);

static void
say(struct look *l, enum outlook_chance chance, const char *format, ...)
{
    va_list args;

    l->result->chance = chance;
    va_start(args, format);
    vsnprintf(l->result->words, sizeof(l->result->words), format, args);
    va_end(args);
}

/* ---- What is taken ---- */

static int64_t
end_of(const struct pod *pod, int64_t now_us)
{
    struct container_state state = {0};
    int64_t began_us = pod->status.start_at_us;

    if (pod->spec.active_deadline_seconds == NULL)
        return 0;
    if (pod_main_state(pod, &state) && state.started_at_us > 0)
        began_us = state.started_at_us;
    if (began_us == 0)
        began_us = now_us;
    began_us += *pod->spec.active_deadline_seconds * SECOND_US;
    return began_us > now_us ? began_us : now_us;
}

/* Pods by their nodes, so that those of one stand together. */
static const char *
node_of_pod(const struct pod *pod)
{
    return pod->spec.node_name != NULL ? pod->spec.node_name : "";
}

static int
compare_pods(const void *a, const void *b)
{
    return strcmp(node_of_pod(*(const struct pod *const *)a),
                  node_of_pod(*(const struct pod *const *)b));
}

/* The first that is not before the node. */
static unsigned
first_on(const struct pod *const *pods, unsigned n_pods, const char *node)
{
    unsigned low = 0, high = n_pods;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (strcmp(node_of_pod(pods[middle]), node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void
find_tenants(struct look *l,
             const struct pod *const *pods,
             unsigned n_pods,
             int64_t now_us)
{
    const char *node = l->node->meta.name;

    for (unsigned i = first_on(pods, n_pods, node);
         i < n_pods && strcmp(node_of_pod(pods[i]), node) == 0;
         i++)
        tenancy_add(l->tenancy, pods[i], end_of(pods[i], now_us));
}

/* ---- The rungs: each one may say that it is not to be ---- */

static bool
is_meant(struct look *l)
{
    const struct pod_spec *spec = l->spec;
    const struct node_affinity *affinity =
        spec->affinity != NULL ? spec->affinity->node_affinity : NULL;
    const struct string_map *labels = &l->node->meta.labels;

    if (spec->node_name != NULL && spec->node_name[0] != '\0'
        && !is_text(spec->node_name, l->node->meta.name)) {
        say(l, OUTLOOK_NEVER, "is not the node that is asked for");
        return false;
    }
    for (unsigned i = 0; i < spec->node_selector.count; i++) {
        const char *has =
            string_map_find(labels, spec->node_selector.items[i].key);

        if (is_text(has, spec->node_selector.items[i].value))
            continue;
        say(l,
            OUTLOOK_NEVER,
            "is not %.60s=%.60s",
            spec->node_selector.items[i].key,
            spec->node_selector.items[i].value);
        return false;
    }
    if (affinity != NULL && affinity->required != NULL
        && !node_selector_matches(affinity->required,
                                  labels,
                                  l->node->meta.name)) {
        say(l, OUTLOOK_NEVER, "is not one of those that are asked for");
        return false;
    }
    return true;
}

static bool
is_large_enough(struct look *l)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (tenancy_can_hold(l->tenancy, &words))
        return true;
    l->result->lacks_mcpu = tenancy_lacks_of_size(l->tenancy);
    say(l, OUTLOOK_NEVER, "%s", words.text);
    return false;
}

static bool
is_tolerated(const struct pod_spec *spec, const struct taint *taint)
{
    if (is_text(taint->effect, "PreferNoSchedule"))
        return true;
    for (unsigned i = 0; i < spec->tolerations.count; i++)
        if (toleration_tolerates(&spec->tolerations.items[i], taint))
            return true;
    return false;
}

static bool
is_open(struct look *l)
{
    const struct node_spec *spec = &l->node->spec;

    if (!node_is_ready(l->node)) {
        say(l, OUTLOOK_BLOCKED, "is not ready");
        return false;
    }
    if (spec->unschedulable) {
        say(l, OUTLOOK_BLOCKED, "is cordoned");
        return false;
    }
    for (unsigned i = 0; i < spec->taints.count; i++)
        if (!is_tolerated(l->spec, &spec->taints.items[i])) {
            say(l,
                OUTLOOK_BLOCKED,
                "has the taint %.80s",
                spec->taints.items[i].key);
            return false;
        }
    return true;
}

/* When enough has ended; 0: nobody knows. */
static int64_t
find_time(struct tenancy *t)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    int64_t at_us;

    do
        at_us = tenancy_end_next(t);
    while (at_us > 0 && !tenancy_has_room(t, &words));
    return at_us;
}

static void
find_room(struct look *l)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (tenancy_has_room(l->tenancy, &words)) {
        say(l, OUTLOOK_NOW, "has room");
        return;
    }
    l->result->lacks_mcpu = tenancy_lacks(l->tenancy);
    say(l, OUTLOOK_LATER, "%s", words.text);
    l->result->from_us = find_time(l->tenancy);
}

static void
look_at(struct look *l)
{
    struct outlook_node *r = l->result;

    if (!is_meant(l))
        return;
    r->is_open = is_open(l);
    r->free_mcpu = tenancy_left(l->tenancy, "cpu");
    r->free_bytes = tenancy_left(l->tenancy, "memory");
    r->has_mcpu = tenancy_has(l->tenancy, "cpu");
    r->has_bytes = tenancy_has(l->tenancy, "memory");
    if (is_large_enough(l) && r->is_open)
        find_room(l);
}

/* ---- All nodes ---- */

static int
compare_nodes(const void *a, const void *b)
{
    const struct outlook_node *x = a, *y = b;

    if (x->chance != y->chance)
        return x->chance > y->chance ? -1 : 1;
    if (x->is_open != y->is_open)
        return x->is_open ? -1 : 1;
    if (x->from_us != y->from_us) {
        if (x->from_us == 0 || y->from_us == 0)
            return x->from_us == 0 ? 1 : -1;
        return x->from_us < y->from_us ? -1 : 1;
    }
    if (x->lacks_mcpu != y->lacks_mcpu)
        return x->lacks_mcpu < y->lacks_mcpu ? -1 : 1;
    if (x->chance == OUTLOOK_NEVER && x->has_bytes != y->has_bytes)
        return x->has_bytes > y->has_bytes ? -1 : 1;
    return strverscmp(x->name, y->name);
}

struct outlook *
outlook_new(const struct pod_spec *spec,
            const struct survey *survey,
            int64_t now_us)
{
    CLEANUP(stowage_freep)
    struct stowage *stowage = stowage_new(survey->volumes, survey->n_volumes);
    CLEANUP(topology_cache_freep)
    struct topology_cache *topologies = topology_cache_new();
    CLEANUP(tenancy_freep) struct tenancy *last = NULL;
    CLEANUP_BID struct bid bid;
    unsigned n_nodes = survey->n_nodes, n_pods = survey->n_pods;
    struct outlook *o = xnew(struct outlook);
    const struct pod **live = xnew_array(const struct pod *, n_pods + 1);
    unsigned n_live = 0;

    bid_init(&bid, spec);
    for (unsigned i = 0; i < n_pods; i++)
        if (!pod_is_finished(pod_of(survey->pods[i])))
            live[n_live++] = pod_of(survey->pods[i]);
    if (n_live > 1)
        qsort(live, n_live, sizeof(*live), compare_pods);
    o->n_waiting = first_on(live, n_live, "\1"); /* those with no node */
    o->now_us = now_us;
    o->n_nodes = n_nodes;
    o->nodes = xnew_array(struct outlook_node, n_nodes + 1);
    for (unsigned i = 0; i < n_nodes; i++) {
        const struct node *node = node_of(survey->nodes[i]);
        struct tenancy *tenancy = tenancy_new(node, &bid, topologies);
        struct look l = {
            .spec = spec,
            .node = node,
            .tenancy = tenancy,
            .result = &o->nodes[i],
        };

        /* The topologies forgets a topology that nobody uses, and the next node
         * may have the same.
         */
        tenancy_free(last);
        last = tenancy;
        o->nodes[i].name = node->meta.name;
        tenancy_add_volumes(tenancy, stowage_taken(stowage, node->meta.name));
        find_tenants(&l, live, n_live, now_us);
        look_at(&l);
        o->counts[o->nodes[i].chance]++;
    }
    if (n_nodes > 1)
        qsort(o->nodes, n_nodes, sizeof(*o->nodes), compare_nodes);
    free(live);
    return o;
}

void
outlook_free(struct outlook *o)
{
    if (o == NULL)
        return;
    free(o->nodes);
    free(o);
}

enum outlook_chance
outlook_best(const struct outlook *o)
{
    return o->n_nodes > 0 ? o->nodes[0].chance : OUTLOOK_NEVER;
}

void
outlook_format(const struct outlook *o, struct strbuf *out)
{
    const struct outlook_node *best = o->nodes;
    char time[TIME_TEXT_SIZE];

    if (o->n_nodes == 0) {
        strbuf_add_text(out, "there are no nodes");
        return;
    }
    switch (outlook_best(o)) {
    case OUTLOOK_NOW:
        strbuf_printf(out,
                      "it could start now, on %s (%u of %u nodes have room)",
                      best->name,
                      o->counts[OUTLOOK_NOW],
                      o->n_nodes);
        break;
    case OUTLOOK_LATER:
        if (best->from_us == 0) {
            strbuf_printf(out,
                          "no node has room, and what runs there has no time "
                          "limit; the nearest, %s, %s",
                          best->name,
                          best->words);
            break;
        }
        time_format(best->from_us, false, time);
        strbuf_printf(out,
                      "it could start at %s at the earliest, on %s, which %s",
                      time,
                      best->name,
                      best->words);
        break;
    case OUTLOOK_BLOCKED:
        strbuf_printf(out,
                      "no node that could run it is open: %s %s",
                      best->name,
                      best->words);
        break;
    case OUTLOOK_NEVER:
        strbuf_printf(out,
                      "no node can ever run it; the nearest, %s, %s",
                      best->name,
                      best->words);
        break;
    }
    if (outlook_best(o) > OUTLOOK_BLOCKED && o->n_waiting > 0)
        strbuf_printf(out,
                      "; %u pod%s wait%s too, and may go first",
                      o->n_waiting,
                      o->n_waiting == 1 ? "" : "s",
                      o->n_waiting == 1 ? "s" : "");
}
