/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/outlook.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outlook/stowage.h"
#include "cli/outlook/survey.h"
#include "lib/api/cpuset.h"
#include "lib/api/node.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/api/quantity.h"
#include "lib/api/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/bitset.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

/* What a node has, or a pod takes of it. */
struct sizes {
    int64_t mcpu;
    int64_t memory_bytes;
    int64_t scratch_bytes;
};

struct tenant { /* a pod on the node */
    struct sizes takes;
    int64_t ends_us; /* 0: it has no limit */
};

struct look {
    const struct pod_spec *spec;
    const struct node *node;
    struct outlook_node *result;
    struct sizes has;     /* all of it */
    int64_t stowed_bytes; /* volumes, of its scratch */
    struct sizes wants;
    struct tenant *tenants;
    unsigned n_tenants;
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

static void
format_cpus(int64_t mcpu, char out[32])
{
    if (mcpu % 1000 == 0)
        snprintf(out, 32, "%" PRId64, mcpu / 1000);
    else
        snprintf(out, 32, "%.3g", (double)mcpu / 1000.0);
}

static void
format_bytes(int64_t bytes, char out[QUANTITY_TEXT_SIZE])
{
    const int64_t mib = INT64_C(1) << 20;
    struct quantity q =
        quantity_of((bytes + mib - 1) / mib * mib, QUANTITY_BINARY_SI);

    quantity_format(&q, out);
}

/* ---- What is asked for ---- */

static const char *
request_of(const struct pod_spec *spec, unsigned container, const char *name)
{
    return string_map_find(
        &spec->containers.items[container].resources.requests,
        name);
}

static struct sizes
requests_of(const struct pod_spec *spec)
{
    struct sizes sum = {0};

    for (unsigned i = 0; i < spec->containers.count; i++) {
        sum.mcpu += quantity_text_milli(request_of(spec, i, "cpu"));
        sum.memory_bytes += quantity_text_value(request_of(spec, i, "memory"));
    }
    sum.scratch_bytes = stowage_wanted(spec);
    return sum;
}

/* Whole cores cost all of their hardware threads. */
static int64_t
cost_in_cores(const struct pod_spec *spec,
              const struct node *node,
              int64_t mcpu)
{
    CLEANUP(topology_freep) struct topology *t = NULL;
    int64_t threads, used;

    if (spec->placement == NULL || mcpu % 1000 != 0 || mcpu == 0
        || !is_text(spec->placement->cpu_policy, "exclusive")
        || node->status.topology == NULL
        || topology_decode(node->status.topology, &t, NULL) < 0
        || t->n_cores == 0)
        return mcpu;
    threads = (int64_t)bitset_count(&t->pus) / (int64_t)t->n_cores;
    if (threads <= 1)
        return mcpu;
    used = spec->placement->threads_per_core;
    if (used <= 0 || used > threads)
        used = threads;
    return (mcpu / 1000 + used - 1) / used * threads * 1000;
}

/* ---- What is taken ---- */

static int64_t
count_cpus(const char *list)
{
    struct bitset set;

    if (list == NULL || cpuset_parse(list, &set, NULL) < 0)
        return 0;
    return (int64_t)bitset_count(&set);
}

static struct sizes
taken_by(const struct pod *pod)
{
    struct sizes takes = requests_of(&pod->spec);
    const struct allocation *a = pod->status.allocation;

    if (a != NULL && a->cpus != NULL)
        takes.mcpu = 1000 * (count_cpus(a->cpus) + count_cpus(a->withheld));
    return takes;
}

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
         i++) {
        l->tenants[l->n_tenants].takes = taken_by(pods[i]);
        l->tenants[l->n_tenants++].ends_us = end_of(pods[i], now_us);
    }
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
    char has[QUANTITY_TEXT_SIZE], wants[QUANTITY_TEXT_SIZE];

    if (l->wants.mcpu > l->has.mcpu) {
        l->result->lacks_mcpu = l->wants.mcpu - l->has.mcpu;
        format_cpus(l->has.mcpu, has);
        format_cpus(l->wants.mcpu, wants);
        say(l, OUTLOOK_NEVER, "has %s CPUs of the %s needed", has, wants);
        return false;
    }
    if (l->wants.memory_bytes > l->has.memory_bytes) {
        format_bytes(l->has.memory_bytes, has);
        format_bytes(l->wants.memory_bytes, wants);
        say(l, OUTLOOK_NEVER, "has %s of memory of the %s needed", has, wants);
        return false;
    }
    if (l->wants.scratch_bytes > l->has.scratch_bytes) {
        format_bytes(l->has.scratch_bytes, has);
        format_bytes(l->wants.scratch_bytes, wants);
        say(l, OUTLOOK_NEVER, "has %s of scratch of the %s needed", has, wants);
        return false;
    }
    return true;
}

/* GPUs, huge pages and what else nodes may count. */
static bool
has_resources(struct look *l)
{
    const struct string_map *there = &l->node->status.allocatable;

    for (unsigned c = 0; c < l->spec->containers.count; c++) {
        const struct string_map *all =
            &l->spec->containers.items[c].resources.requests;

        for (unsigned i = 0; i < all->count; i++) {
            const char *name = all->items[i].key;
            const char *has = string_map_find(there, name);

            if (quantity_text_value(has)
                >= quantity_text_value(all->items[i].value))
                continue;
            say(l,
                OUTLOOK_NEVER,
                "has %.20s %.60s of the %.20s needed",
                has != NULL ? has : "no",
                name,
                all->items[i].value);
            return false;
        }
    }
    return true;
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

static int
compare_ends(const void *a, const void *b)
{
    const struct tenant *x = a, *y = b;

    /* Those without an end come last. */
    if (x->ends_us == 0 || y->ends_us == 0)
        return (x->ends_us == 0) - (y->ends_us == 0);
    return (x->ends_us > y->ends_us) - (x->ends_us < y->ends_us);
}

static bool
fits(const struct look *l, const struct sizes *free, unsigned n_left)
{
    if (l->spec->placement != NULL && l->spec->placement->whole_node
        && n_left > 0)
        return false;
    return l->wants.mcpu <= free->mcpu
           && l->wants.memory_bytes <= free->memory_bytes
           && l->wants.scratch_bytes <= free->scratch_bytes;
}

static void
find_room(struct look *l)
{
    struct sizes free = l->has;
    unsigned ended = 0;
    char text[QUANTITY_TEXT_SIZE];

    for (unsigned i = 0; i < l->n_tenants; i++) {
        free.mcpu -= l->tenants[i].takes.mcpu;
        free.memory_bytes -= l->tenants[i].takes.memory_bytes;
    }
    free.scratch_bytes -= l->stowed_bytes;
    if (fits(l, &free, l->n_tenants)) {
        say(l, OUTLOOK_NOW, "has room");
        return;
    }
    if (l->wants.mcpu > free.mcpu) {
        l->result->lacks_mcpu = l->wants.mcpu - free.mcpu;
        format_cpus(l->result->lacks_mcpu, text);
        say(l,
            OUTLOOK_LATER,
            "lacks %s free CPU%s",
            text,
            l->result->lacks_mcpu == 1000 ? "" : "s");
    } else if (l->wants.memory_bytes > free.memory_bytes) {
        format_bytes(l->wants.memory_bytes - free.memory_bytes, text);
        say(l, OUTLOOK_LATER, "lacks %s of free memory", text);
    } else if (l->wants.scratch_bytes > free.scratch_bytes) {
        format_bytes(l->wants.scratch_bytes - free.scratch_bytes, text);
        say(l, OUTLOOK_LATER, "lacks %s of free scratch", text);
    } else {
        say(l, OUTLOOK_LATER, "is not empty");
    }
    if (l->n_tenants > 1)
        qsort(l->tenants, l->n_tenants, sizeof(*l->tenants), compare_ends);
    while (ended < l->n_tenants && l->tenants[ended].ends_us > 0
           && !fits(l, &free, l->n_tenants - ended)) {
        l->result->from_us = l->tenants[ended].ends_us;
        free.mcpu += l->tenants[ended].takes.mcpu;
        free.scratch_bytes += l->tenants[ended].takes.scratch_bytes;
        free.memory_bytes += l->tenants[ended++].takes.memory_bytes;
    }
    if (!fits(l, &free, l->n_tenants - ended))
        l->result->from_us = 0;
}

static void
look_at(struct look *l)
{
    const struct string_map *there = &l->node->status.allocatable;

    l->has.mcpu = quantity_text_milli(string_map_find(there, "cpu"));
    l->has.memory_bytes = quantity_text_value(string_map_find(there, "memory"));
    l->has.scratch_bytes = node_scratch_bytes(l->node);
    l->wants = requests_of(l->spec);
    l->wants.mcpu = cost_in_cores(l->spec, l->node, l->wants.mcpu);
    if (is_meant(l) && is_large_enough(l) && has_resources(l) && is_open(l))
        find_room(l);
}

/* ---- All nodes ---- */

static int
compare_nodes(const void *a, const void *b)
{
    const struct outlook_node *x = a, *y = b;

    if (x->chance != y->chance)
        return x->chance > y->chance ? -1 : 1;
    if (x->from_us != y->from_us) {
        if (x->from_us == 0 || y->from_us == 0)
            return x->from_us == 0 ? 1 : -1;
        return x->from_us < y->from_us ? -1 : 1;
    }
    if (x->lacks_mcpu != y->lacks_mcpu)
        return x->lacks_mcpu < y->lacks_mcpu ? -1 : 1;
    return strverscmp(x->name, y->name);
}

struct outlook *
outlook_new(const struct pod_spec *spec,
            const struct survey *survey,
            int64_t now_us)
{
    CLEANUP(stowage_freep)
    struct stowage *stowage = stowage_new(survey->volumes, survey->n_volumes);
    unsigned n_nodes = survey->n_nodes, n_pods = survey->n_pods;
    struct outlook *o = xnew(struct outlook);
    struct tenant *tenants = xnew_array(struct tenant, n_pods + 1);
    const struct pod **live = xnew_array(const struct pod *, n_pods + 1);
    unsigned n_live = 0;

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
        struct look l = {
            .spec = spec,
            .node = node_of(survey->nodes[i]),
            .result = &o->nodes[i],
            .tenants = tenants,
        };

        o->nodes[i].name = l.node->meta.name;
        l.stowed_bytes = stowage_taken(stowage, l.node->meta.name);
        find_tenants(&l, live, n_live, now_us);
        look_at(&l);
        o->counts[o->nodes[i].chance]++;
    }
    if (n_nodes > 1)
        qsort(o->nodes, n_nodes, sizeof(*o->nodes), compare_nodes);
    free(tenants);
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
