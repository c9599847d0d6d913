/* SPDX-License-Identifier: Apache-2.0 */
/* The same request on the same nodes has to give the same answer to everybody who asks, krun
 * and agents, so this is a pure function of both. When a step does not fit, what matters is
 * whether it can ever fit: then it waits, and otherwise it is refused, in Slurm's words and
 * with the numbers.
 */
#include "lib/step/step_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_binding.h"
#include "lib/step/step_distribution.h"
#include "lib/step/step_request.h"

/* The state of one call of step_layout_make. */
struct planning {
    struct arena *arena;
    const struct step_request *request;
    const struct step_place *places;
    unsigned n_places;
    struct step_distribution distribution;
    struct step_binding binding;
    unsigned *candidates; /* places that may be used, in their order */
    unsigned n_candidates;
    unsigned tasks, min_nodes, max_nodes;
    unsigned cpus_per_task;
    unsigned *counts; /* tasks of each candidate */
    struct error *err;
};

/* --- candidates ------------------------------------------------------------
 */

static int
expand(struct planning *p, const char *list, const char *option, const char ***ret_names,
       size_t *ret_count)
{
    int r = hostlist_expand_few(p->arena, list, STEP_NODES_MOST, ret_names, ret_count, p->err);

    return r < 0 ? error_wrap(p->err, r, "%s", option) : 0;
}

/* All names of the list must be nodes of the job. */
static int
mark_named(struct planning *p, const char *list, const char *option, bool *marks)
{
    CLEANUP(map_freep) struct map *known = map_new();
    const char **names;
    size_t count;
    int r = expand(p, list, option, &names, &count);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < p->n_places; i++)
        map_put(known, p->places[i].name, (void *)(uintptr_t)(i + 1));
    for (size_t i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)map_find(known, names[i]);

        if (at > 0)
            marks[at - 1] = true;
        else if (p->request->nodes == list)
            return error_set(p->err, -EINVAL,
                             "Requested node configuration is not available: '%s' is no node of "
                             "the job",
                             names[i]);
    }
    return 0;
}

static int
find_candidates(struct planning *p)
{
    const struct step_request *q = p->request;
    bool *named = arena_new_array(p->arena, bool, p->n_places + 1);
    bool *excluded = arena_new_array(p->arena, bool, p->n_places + 1);
    int r = 0;

    p->candidates = arena_new_array(p->arena, unsigned, p->n_places + 1);
    if (q->first_node >= p->n_places)
        return error_set(p->err, -EINVAL, "--relative=%" PRId64 ": the job has %u nodes, from 0 on",
                         q->first_node, p->n_places);
    if (q->nodes != NULL)
        r = mark_named(p, q->nodes, "--nodelist", named);
    if (r == 0 && q->excluded_nodes != NULL)
        r = mark_named(p, q->excluded_nodes, "--exclude", excluded);
    for (unsigned i = (unsigned)q->first_node; i < p->n_places && r == 0; i++)
        if (!excluded[i] && (q->nodes == NULL || named[i]))
            p->candidates[p->n_candidates++] = i;
    if (r == 0 && p->n_candidates == 0)
        r = error_set(p->err, -EINVAL, "no node of the job is left for the step");
    return r;
}

/* --- how many --------------------------------------------------------------
 */

static int
count_tasks(struct planning *p)
{
    const struct step_request *q = p->request;
    int64_t nodes = q->min_nodes > 0 ? q->min_nodes : 1;

    p->tasks = (unsigned)(q->tasks > 0            ? q->tasks
                          : q->tasks_per_node > 0 ? q->tasks_per_node * nodes
                                                  : nodes);
    if (p->tasks > STEP_TASKS_MOST)
        return error_set(p->err, -EINVAL, "%u tasks; a step has %d at most", p->tasks,
                         STEP_TASKS_MOST);
    p->min_nodes = p->distribution.packs ? 1 : nodes < p->tasks ? (unsigned)nodes : p->tasks;
    p->max_nodes = p->n_candidates;
    if (q->max_nodes > 0 && q->max_nodes < p->max_nodes)
        p->max_nodes = (unsigned)q->max_nodes;
    if (p->min_nodes > p->n_candidates)
        return error_set(p->err, -ENOSPC, "Only allocated %u nodes asked for %u", p->n_candidates,
                         p->min_nodes);
    return 0;
}

static unsigned
share_of_task(const struct planning *p)
{
    uint64_t cpus = 0, tasks;

    if (p->request->is_exact)
        return 1;
    if (p->request->job_cpus_per_task > 0)
        return (unsigned)p->request->job_cpus_per_task;
    for (unsigned i = 0; i < p->n_places; i++)
        cpus += bitset_count(&p->places[i].cpus);
    tasks = p->request->job_tasks > 0 ? (uint64_t)p->request->job_tasks : p->n_places;
    return cpus > tasks ? (unsigned)(cpus / tasks) : 1;
}

static struct bitset
find_free(const struct planning *p, const struct step_place *place, bool ignores_steps)
{
    struct bitset set = place->cpus;

    if (!ignores_steps && !p->request->overlaps)
        bitset_and_not(&set, &place->busy);
    return set;
}

static struct bitset
find_free_gpus(const struct planning *p, const struct step_place *place, bool ignores_steps)
{
    struct bitset set = {0};

    for (unsigned i = 0; i < place->gpus && i < BITSET_BITS; i++)
        if (ignores_steps || p->request->overlaps || !bitset_has(&place->busy_gpus, i))
            bitset_add(&set, i);
    return set;
}

static bool
has_memory(const struct planning *p, const struct step_place *place, bool ignores_steps)
{
    const int64_t busy = ignores_steps || p->request->overlaps ? 0 : place->busy_memory_bytes;

    return place->memory_bytes == 0 || p->request->memory_bytes <= place->memory_bytes - busy;
}

/* The number of tasks that the place can take. */
static unsigned
count_slots(const struct planning *p, const struct step_place *place, bool ignores_steps)
{
    const struct step_request *q = p->request;
    const struct bitset cpus = find_free(p, place, ignores_steps);
    const unsigned n = bitset_count(&cpus);
    unsigned slots = q->overcommits ? (n > 0 ? p->tasks : 0) : n / p->cpus_per_task;
    struct bitset gpus;

    if (!has_memory(p, place, ignores_steps))
        return 0;
    if (!bitset_is_empty(&p->binding.named))
        slots = bitset_contains(&cpus, &p->binding.named) ? p->tasks : 0;
    if (q->tasks_per_node > 0 && slots > q->tasks_per_node)
        slots = (unsigned)q->tasks_per_node;
    if (q->gpus_per_task == 0 && q->gpus_per_node == 0)
        return slots;
    gpus = find_free_gpus(p, place, ignores_steps);
    if (bitset_count(&gpus) < q->gpus_per_node)
        return 0;
    if (q->gpus_per_task > 0 && slots > bitset_count(&gpus) / q->gpus_per_task)
        slots = (unsigned)(bitset_count(&gpus) / q->gpus_per_task);
    return slots;
}

/* --- tasks to nodes --------------------------------------------------------
 */

/* Fills the first nodes, but leaves a task for each of the others. */
static void
divide_in_blocks(struct planning *p, const unsigned *slots, unsigned n)
{
    unsigned left = p->tasks;

    for (unsigned i = 0; i < n && left > 0; i++) {
        const unsigned others = n - i - 1;
        unsigned most = left > others ? left - others : 1;

        p->counts[i] = slots[i] < most ? slots[i] : most;
        left -= p->counts[i];
    }
}

static void
divide_in_turns(struct planning *p, const unsigned *slots, unsigned n, unsigned step)
{
    for (unsigned left = p->tasks, before = left + 1; left > 0 && left < before;) {
        before = left;
        for (unsigned i = 0; i < n && left > 0; i++) {
            unsigned more = slots[i] - p->counts[i];

            more = more < step ? more : step;
            more = more < left ? more : left;
            p->counts[i] += more;
            left -= more;
        }
    }
}

/* Chooses nodes and divides the tasks among them: false if they do not fit. The
 * candidates that are used come first then.
 */
static bool
divide(struct planning *p, bool ignores_steps, unsigned *ret_nodes)
{
    unsigned *slots = arena_new_array(p->arena, unsigned, p->n_candidates);
    unsigned *used = arena_new_array(p->arena, unsigned, p->n_candidates);
    uint64_t sum = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_candidates && n < p->max_nodes; i++) {
        if (n >= p->min_nodes && sum >= p->tasks)
            break;
        slots[n] = count_slots(p, &p->places[p->candidates[i]], ignores_steps);
        if (slots[n] == 0)
            continue;
        sum += slots[n];
        used[n++] = p->candidates[i];
    }
    if (n < p->min_nodes || sum < p->tasks)
        return false;
    memset(p->counts, 0, sizeof(*p->counts) * p->n_candidates);
    if (p->distribution.nodes == STEP_ORDER_CYCLIC || p->distribution.spreads)
        divide_in_turns(p, slots, n, 1);
    else if (p->distribution.nodes == STEP_ORDER_PLANE)
        divide_in_turns(p, slots, n, p->distribution.plane);
    else
        divide_in_blocks(p, slots, n);
    /* Planes can leave a node without a task. */
    *ret_nodes = 0;
    for (unsigned i = 0; i < n; i++)
        if (p->counts[i] > 0) {
            p->counts[*ret_nodes] = p->counts[i];
            p->candidates[(*ret_nodes)++] = used[i];
        }
    return true;
}

/* Gives each task its node, in the order of the distribution. */
static void
number_tasks(struct planning *p, struct step_layout *layout)
{
    const unsigned turn = p->distribution.nodes == STEP_ORDER_CYCLIC  ? 1
                          : p->distribution.nodes == STEP_ORDER_PLANE ? p->distribution.plane
                                                                      : p->tasks;
    unsigned task = 0;

    while (task < layout->n_tasks)
        for (unsigned i = 0; i < layout->n_nodes; i++) {
            struct step_layout_node *node = &layout->nodes[i];

            for (unsigned j = 0; j < turn && node->n_tasks < p->counts[i]; j++)
                node->tasks[node->n_tasks++] = task++;
        }
}

/* --- CPUs ------------------------------------------------------------------
 */

static void
take_in_order(const struct step_place *place, const struct bitset *from, unsigned wanted,
              struct bitset *taken)
{
    const unsigned all = bitset_count(&place->cpus);
    unsigned next = 0;

    for (unsigned i = 0; i < all && wanted > 0; i++) {
        const unsigned cpu =
            place->order != NULL ? place->order[i] : bitset_next(&place->cpus, next);

        next = cpu + 1;
        if (!bitset_has(from, cpu) || bitset_has(taken, cpu))
            continue;
        bitset_add(taken, cpu);
        wanted--;
    }
}

/* A step that may take busy CPUs takes free ones first. */
static struct bitset
take_cpus(const struct planning *p, const struct step_place *place, unsigned tasks)
{
    struct bitset taken = {0}, unused = place->cpus;
    const unsigned wanted = tasks * p->cpus_per_task;

    if (!bitset_is_empty(&p->binding.named))
        return p->binding.named;
    bitset_and_not(&unused, &place->busy);
    take_in_order(place, &unused, wanted, &taken);
    if (p->request->overlaps)
        take_in_order(place, &place->cpus, wanted - bitset_count(&taken), &taken);
    return taken;
}

static struct bitset
take_gpus(const struct planning *p, const struct step_place *place, unsigned tasks)
{
    const struct step_request *q = p->request;
    struct bitset taken = {0}, from = find_free_gpus(p, place, false);
    int64_t wanted = q->gpus_per_task > 0 ? q->gpus_per_task * tasks : q->gpus_per_node;

    /* Of a step that may share GPUs, too: free ones first. */
    for (unsigned turn = 0; turn < 2; turn++)
        bitset_foreach(gpu, &from)
        {
            if (wanted <= 0 || bitset_has(&taken, gpu)
                || (turn == 0 && bitset_has(&place->busy_gpus, gpu)))
                continue;
            bitset_add(&taken, gpu);
            wanted--;
        }
    return taken;
}

static void
fill(struct planning *p, unsigned n_nodes, struct step_layout *layout)
{
    *layout = (struct step_layout){
        .n_tasks = p->tasks,
        .n_nodes = n_nodes,
        .cpus_per_task = p->request->overcommits ? 0 : p->cpus_per_task,
        .nodes = arena_new_array(p->arena, struct step_layout_node, n_nodes),
    };
    for (unsigned i = 0; i < n_nodes; i++) {
        const struct step_place *place = &p->places[p->candidates[i]];

        layout->nodes[i] = (struct step_layout_node){
            .place = p->candidates[i],
            .name = place->name,
            .tasks = arena_new_array(p->arena, unsigned, p->counts[i]),
            .cpus = take_cpus(p, place, p->counts[i]),
            .gpus = take_gpus(p, place, p->counts[i]),
        };
    }
    number_tasks(p, layout);
}

/* --- refusals --------------------------------------------------------------
 */

static int
refuse_named(struct planning *p)
{
    for (unsigned i = 0; i < p->n_candidates; i++) {
        const struct step_place *place = &p->places[p->candidates[i]];
        int r = step_binding_check(&p->binding, &place->cpus, p->err);

        if (r < 0)
            return error_wrap(p->err, r, "on %s", place->name);
    }
    return 0;
}

/* Slurm's words, and then the numbers. */
static int
refuse(struct planning *p)
{
    const struct step_request *q = p->request;
    uint64_t cpus = 0, gpus = 0;
    int r = refuse_named(p);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < p->n_candidates; i++) {
        const struct step_place *place = &p->places[p->candidates[i]];

        cpus += bitset_count(&place->cpus);
        gpus += place->gpus;
        if (!has_memory(p, place, true))
            return error_set(p->err, -ENOSPC,
                             "Memory required by task is not available: --mem asks for %" PRId64
                             " MiB, and the job has %" PRId64 " MiB on %s",
                             q->memory_bytes >> 20, place->memory_bytes >> 20, place->name);
    }
    if (q->gpus_per_task > 0 || q->gpus_per_node > 0)
        if (gpus < (uint64_t)(q->gpus_per_task * p->tasks)
            || gpus < (uint64_t)(q->gpus_per_node * p->min_nodes))
            return error_set(p->err, -ENOSPC,
                             "Invalid generic resource (gres) specification: the step needs more "
                             "GPUs than the %" PRIu64 " that the job has",
                             gpus);
    return error_set(p->err, -ENOSPC,
                     "More processors requested than permitted: %u task%s, %u CPU%s for each; the "
                     "step may use %" PRIu64 " CPU%s on %u of the job's nodes",
                     p->tasks, p->tasks == 1 ? "" : "s", p->cpus_per_task,
                     p->cpus_per_task == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s", p->max_nodes);
}

int
step_layout_make(struct arena *arena, const struct step_request *request,
                 const struct step_place *places, unsigned n_places, struct step_layout *ret_layout,
                 struct error *err)
{
    struct planning p = {
        .arena = arena, .request = request, .places = places, .n_places = n_places, .err = err};
    unsigned n = 0;
    int r = step_distribution_parse(request->distribution, &p.distribution, err);

    if (r == 0)
        r = step_binding_parse(arena, request->cpu_bind, &p.binding, err);
    if (r == 0)
        r = find_candidates(&p);
    if (r == 0)
        r = count_tasks(&p);
    if (r < 0)
        return r;
    p.counts = arena_new_array(arena, unsigned, p.n_candidates);
    p.cpus_per_task =
        request->cpus_per_task > 0 ? (unsigned)request->cpus_per_task : share_of_task(&p);
    while (!divide(&p, true, &n)) {
        if (request->cpus_per_task > 0 || p.cpus_per_task == 1)
            return refuse(&p);
        p.cpus_per_task--;
    }
    p.n_candidates = 0;
    r = find_candidates(&p);
    if (r < 0)
        return r;
    if (!divide(&p, false, &n))
        return error_set(err, -EBUSY, "Requested nodes are busy");
    fill(&p, n, ret_layout);
    return 0;
}

void
step_layout_format_nodes(const struct step_layout *layout, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **names = arena_new_array(arena, const char *, layout->n_nodes);

    for (unsigned i = 0; i < layout->n_nodes; i++)
        names[i] = layout->nodes[i].name;
    hostlist_format_in_order(names, layout->n_nodes, out);
}

void
step_layout_format_tasks(const struct step_layout *layout, struct strbuf *out)
{
    for (unsigned i = 0, n; i < layout->n_nodes; i += n) {
        for (n = 1; i + n < layout->n_nodes; n++)
            if (layout->nodes[i + n].n_tasks != layout->nodes[i].n_tasks)
                break;
        strbuf_printf(out, "%s%u", i > 0 ? "," : "", layout->nodes[i].n_tasks);
        if (n > 1)
            strbuf_printf(out, "(x%u)", n);
    }
}
