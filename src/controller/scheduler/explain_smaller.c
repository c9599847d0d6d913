/* SPDX-License-Identifier: Apache-2.0 */
/* With how much smaller requests a waiting pod would start now. Each answer is
 * tried as a cycle would try it, not calculated.
 *
 * Three things are tried, one at a time: a time limit that ends before the
 * reservations of other pods begin, fewer CPUs, and less memory. A trial
 * searches for a node, so there are few, and none begins when the time is used
 * up.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "controller/scheduler/explanation.h"
#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/partition_terms.h"
#include "controller/scheduler/planning/planner.h"
#include "controller/scheduler/select/node_finder.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

#define SMALLER_US     2000 /* of the thread's time */
#define SMALLER_TRIALS 9u
#define OF_A_KIND      3u

/* The time until a job with the new limit is submitted, at most. */
#define MARGIN_S      60
#define LEAST_LIMIT_S 120

struct smaller_search {
    struct explanation *e;
    struct json *found;
    int64_t work_until_us;
    unsigned trials;
};

/* The smaller amounts; 0: not changed. */
struct less {
    int64_t limit_s, cpus, memory_bytes;
};

/* ---- A trial ---- */

static void
set_amount(struct arena *arena, struct json *pod, const char *resource, const char *amount)
{
    static const char *const lists[] = {"requests", "limits"};
    struct json *resources =
        json_get(json_at(json_get_path(pod, "spec.containers"), 0), "resources");

    for (unsigned i = 0; i < ARRAY_SIZE(lists); i++) {
        struct json *list = json_get(resources, lists[i]);

        if (list != NULL && json_get(list, resource) != NULL)
            json_set_string(arena, list, resource, amount);
    }
}

static const struct object *
make_pod(const struct explanation *e, const struct less *less)
{
    struct json *tree = object_tree(e->pod->object, e->arena);
    char text[QUANTITY_TEXT_SIZE];
    struct quantity bytes;

    if (less->limit_s > 0)
        json_set_int(e->arena, json_get(tree, "spec"), "activeDeadlineSeconds", less->limit_s);
    if (less->cpus > 0)
        set_amount(e->arena, tree, "cpu", arena_printf(e->arena, "%" PRId64, less->cpus));
    if (less->memory_bytes > 0) {
        bytes = quantity_of(less->memory_bytes, QUANTITY_BINARY_SI);
        quantity_format(&bytes, text);
        set_amount(e->arena, tree, "memory", text);
    }
    return object_new(e->pod->object->kind, tree);
}

/* The node where the pod would start; NULL: none, or no trial is left. */
static const struct node_view *
try_less(struct smaller_search *s, const struct less *less)
{
    const struct explanation_sources *of = &s->e->of;
    CLEANUP(object_unrefp) const struct object *object = NULL;
    CLEANUP(pod_view_unrefp) struct pod_view *pod = NULL;
    const struct node_view *node;
    struct cycle cycle;
    struct node_finder_place place;

    if (s->trials == SMALLER_TRIALS || clock_monotonic_us(of->handle->clock) >= s->work_until_us)
        return NULL;
    s->trials++;
    object = make_pod(s->e, less);
    pod = partition_terms_view(of->partition_terms, object);
    pod_view_disable_sharing(pod);
    cycle_init(&cycle, pod, of->snapshot);
    place = node_finder_place(of->node_finder);
    node = node_finder_find(of->node_finder, s->e->profile, &cycle, NULL);
    node_finder_set_place(of->node_finder, place);
    cycle_fini(&cycle);
    return node;
}

/* Example: "with 6 CPUs instead of 8 it would start now on n2, 1:30:00 sooner".
 */
static void
format(const struct smaller_search *s, const struct less *less, const struct node_view *node,
       struct strbuf *out)
{
    const struct explanation *e = s->e;
    int64_t now_us = clock_real_us(e->of.handle->clock);
    int64_t saved_us = e->estimate.from_us - now_us;

    strbuf_add_text(out, "with ");
    if (less->limit_s > 0) {
        strbuf_add_text(out, "a time limit of ");
        duration_format(less->limit_s, out);
    } else if (less->cpus > 0) {
        strbuf_printf(out, "%" PRId64 " CPU%s instead of %" PRId64, less->cpus,
                      less->cpus == 1 ? "" : "s", e->pod->requests.cpu_milli / 1000);
    } else {
        job_reason_add_bytes(less->memory_bytes, out);
        strbuf_add_text(out, " of memory instead of ");
        job_reason_add_bytes(e->pod->requests.memory_bytes, out);
    }
    strbuf_printf(out, " it would start now, on %s", node->name);
    if (saved_us < 60 * SECOND_US || e->estimate.is_assumed)
        return;
    strbuf_add_text(out, ", ");
    duration_format(saved_us / SECOND_US, out);
    strbuf_add_text(out, " sooner");
}

static void
add(struct smaller_search *s, const struct less *less, const struct node_view *node)
{
    struct arena *arena = s->e->arena;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct json *item = json_object(arena);

    if (less->limit_s > 0)
        json_set_int(arena, item, "timeLimitSeconds", less->limit_s);
    if (less->cpus > 0)
        json_set_int(arena, item, "milliCPU", less->cpus * 1000);
    if (less->memory_bytes > 0)
        json_set_int(arena, item, "memory", less->memory_bytes);
    json_set_string(arena, item, "node", node->name);
    format(s, less, node, &words);
    json_set(arena, item, "message", explanation_text(arena, words.text, words.length));
    json_append(arena, s->found, item);
}

/* ---- Less time ---- */

/* Rounds down to a time that people would ask for. */
static int64_t
round_limit(int64_t s)
{
    int64_t step = s >= 7200 ? 600 : s >= 1200 ? 300 : 60;

    return s / step * step;
}

static int
compare_limits(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Tries limits that end before a binding reservation begins, the longest first.
 */
static void
try_time(struct smaller_search *s)
{
    const struct timeline *t = s->e->of.handle->timeline;
    int64_t now_us = clock_real_us(s->e->of.handle->clock);
    int64_t limit_us = timeline_limit_us(s->e->pod);
    unsigned n = t != NULL ? timeline_binding(t) : 0, count = 0;
    int64_t *limits = arena_new_array(s->e->arena, int64_t, n + 1);

    for (unsigned i = 0; i < n; i++) {
        const struct reservation *r = timeline_at(t, i);
        int64_t limit_s;

        if (r->places == NULL)
            continue;
        limit_s = round_limit((r->from_us - now_us) / SECOND_US - MARGIN_S);
        if (limit_s >= LEAST_LIMIT_S && limit_s < limit_us / SECOND_US)
            limits[count++] = limit_s;
    }
    if (count > 1)
        qsort(limits, count, sizeof(*limits), compare_limits);
    for (unsigned i = 0; i < OF_A_KIND && count > 0; i++) {
        /* The longest, a middle one, the shortest. */
        const struct less less = {
            .limit_s = limits[(size_t)i * (count - 1) / (OF_A_KIND - 1)],
        };
        const struct node_view *node = try_less(s, &less);

        if (node != NULL) {
            add(s, &less, node);
            return;
        }
    }
}

/* ---- Fewer CPUs, less memory ---- */

static int64_t
round_bytes(int64_t bytes)
{
    const int64_t gib = INT64_C(1) << 30, mib = INT64_C(1) << 20;

    return bytes >= 8 * gib ? bytes / gib * gib : bytes / mib * mib;
}

/* The largest free amount of one resource on a node that has enough of the
 * other.
 */
static int64_t
find_most(const struct explanation *e, bool of_memory)
{
    const struct snapshot *s = e->of.snapshot;
    int64_t most = 0;

    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const struct node_view *v = s->nodes[i];
        int64_t mcpu = v->allocatable.cpu_milli - v->ledger.requested.cpu_milli;
        int64_t bytes = v->allocatable.memory_bytes - v->ledger.requested.memory_bytes;
        int64_t has = of_memory ? round_bytes(bytes) : mcpu / 1000;

        if (has > most
            && (of_memory ? mcpu >= e->pod->requests.cpu_milli
                          : bytes >= e->pod->requests.memory_bytes)
            && start_estimate_is_open(&e->closers, &e->shortage, e->diagnosis, v))
            most = has;
    }
    return most;
}

/* The free amounts are an upper bound, because free cores may not be together.
 */
static void
try_amount(struct smaller_search *s, int64_t most, bool of_memory)
{
    const struct amounts *asked = &s->e->pod->requests;
    int64_t least = of_memory ? INT64_C(1) << 20 : 1;
    int64_t ceiling = of_memory ? asked->memory_bytes - 1 : (asked->cpu_milli - 1) / 1000;

    if (most > ceiling)
        most = of_memory ? round_bytes(ceiling) : ceiling;
    for (unsigned i = 0; i < OF_A_KIND && most >= least; i++) {
        const struct less less = {
            .cpus = of_memory ? 0 : most,
            .memory_bytes = of_memory ? most : 0,
        };
        const struct node_view *node = try_less(s, &less);

        if (node != NULL) {
            add(s, &less, node);
            return;
        }
        most = of_memory ? round_bytes(most / 2) : most / 2;
    }
}

/* A pod with a reservation is bound by those before it, a new pod by all. */
static void
bind_reservations(const struct explanation *e)
{
    planner_bind(e->of.planner,
                 e->queued != NULL && planner_find_place(e->of.planner, e->queued, e->pod) != NULL
                     ? e->queued
                     : NULL);
}

void
explanation_add_smaller(struct explanation *e)
{
    struct smaller_search s = {
        .e = e,
        .found = json_array(e->arena),
        .work_until_us = clock_monotonic_us(e->of.handle->clock) + SMALLER_US,
    };
    const struct pod_spec *spec = &e->pod->pod->spec;
    int64_t cpus, bytes;

    /* With several containers it is not known which should request less. */
    if (e->estimate.chance != START_LATER || spec->containers.count != 1
        || e->shortage.scratch_bytes > 0 || e->of.has_extenders)
        return;
    /* This must come first: the trials overwrite the diagnosis. */
    cpus = find_most(e, false);
    bytes = e->pod->requests.memory_bytes > 0 ? find_most(e, true) : 0;
    bind_reservations(e);
    try_time(&s);
    try_amount(&s, cpus, false);
    try_amount(&s, bytes, true);
    if (json_count(s.found) > 0)
        json_set(e->arena, e->answer, "smaller", s.found);
}
