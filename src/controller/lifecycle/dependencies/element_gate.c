/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/dependencies/element_gate.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_ends.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"

struct gate_parts {
    struct arena *arena;
    struct task_list tasks;
    bool is_complete; /* all arrays that it waits for are in ends[] */
    size_t n_ends;
    const struct element_ends *ends[JOB_DEPENDENCIES_MOST];
};

static enum job_dependency_verdict
judge_task(const struct element_ends *ends, int64_t id)
{
    const int64_t index = ends->tasks.total > 0 ? task_list_index(&ends->tasks, id) : -1;

    if (ends->tasks.total > 0 && index < 0)
        return DEPENDENCY_IS_NEVER_MET; /* there is no such task */
    if (ends->is_whole_ok || (index >= 0 && index_set_has(&ends->ok, index)))
        return DEPENDENCY_IS_MET;
    if ((ends->is_over && ends->is_loaded) || (index >= 0 && index_set_has(&ends->bad, index)))
        return DEPENDENCY_IS_NEVER_MET;
    return DEPENDENCY_WAITS;
}

/* ---- Gates ---- */

struct element_gate *
element_gate_new(const struct job *job)
{
    struct element_gate *gate = xnew(struct element_gate);

    gate->parts = xnew(struct gate_parts);
    gate->parts->arena = arena_new(0);
    element_ends_read_tasks(gate->parts->arena, job, &gate->parts->tasks);
    if (gate->parts->tasks.total > 0)
        index_set_add_range(&gate->waiting, 0, gate->parts->tasks.total - 1);
    return gate;
}

void
element_gate_free(struct element_gate *gate)
{
    if (gate == NULL)
        return;
    index_set_fini(&gate->waiting);
    index_set_fini(&gate->never);
    arena_free(gate->parts->arena);
    free(gate->parts);
    free(gate);
}

static enum job_dependency_verdict
judge_element(const struct gate_parts *p, int64_t index)
{
    const int64_t id = task_list_at(&p->tasks, index);
    enum job_dependency_verdict all = DEPENDENCY_IS_MET;

    for (size_t i = 0; i < p->n_ends; i++) {
        const enum job_dependency_verdict one = judge_task(p->ends[i], id);

        if (one == DEPENDENCY_IS_NEVER_MET)
            return one;
        if (one == DEPENDENCY_WAITS)
            all = one;
    }
    return all;
}

static bool
judge_waiting(struct element_gate *gate, int64_t index)
{
    if (!gate->parts->is_complete || !index_set_has(&gate->waiting, index)
        || index_set_has(&gate->never, index))
        return false;
    switch (judge_element(gate->parts, index)) {
    case DEPENDENCY_IS_MET:
        index_set_remove(&gate->waiting, index);
        if (index < gate->freed_from)
            gate->freed_from = index;
        return true;
    case DEPENDENCY_IS_NEVER_MET:
        index_set_add(&gate->never, index);
        return true;
    default:
        return false;
    }
}

static bool
is_same_list(const struct task_list *a, const struct task_list *b)
{
    return a->total == b->total && a->count == b->count
           && memcmp(a->ranges, b->ranges, a->count * sizeof(*a->ranges)) == 0;
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The first index after this one whose verdict may differ. If both arrays have
 * the same tasks, as most do, the run is long.
 */
static int64_t
find_run_end(const struct gate_parts *p, int64_t index)
{
    int64_t run_end = p->tasks.total;

    for (size_t i = 0; i < p->n_ends; i++) {
        const struct element_ends *ends = p->ends[i];
        const struct index_set *sets[] = {&ends->ok, &ends->bad};

        if (ends->tasks.total == 0)
            continue;
        if (!is_same_list(&ends->tasks, &p->tasks))
            return index + 1;
        for (size_t k = 0; k < ARRAY_SIZE(sets); k++)
            run_end =
                least(run_end, index_set_has(sets[k], index) ? index_set_gap(sets[k], index)
                                                             : index_set_next(sets[k], index));
    }
    return run_end;
}

void
element_gate_check_all(struct element_gate *gate)
{
    const int64_t total = gate->parts->tasks.total;
    int64_t run_end, until;

    if (!gate->parts->is_complete)
        return;
    for (int64_t i = index_set_next(&gate->waiting, 0); i < total;
         i = index_set_next(&gate->waiting, until)) {
        run_end = find_run_end(gate->parts, i);
        until = least(run_end, index_set_gap(&gate->waiting, i));
        switch (judge_element(gate->parts, i)) {
        case DEPENDENCY_IS_MET:
            for (int64_t k = i; k < until; k++)
                judge_waiting(gate, k);
            break;
        case DEPENDENCY_IS_NEVER_MET:
            index_set_add_range(&gate->never, i, until - 1);
            break;
        default:
            break;
        }
    }
}

void
element_gate_complete(struct element_gate *gate)
{
    gate->parts->is_complete = true;
    element_gate_check_all(gate);
}

void
element_gate_add(struct element_gate *gate, const struct element_ends *ends)
{
    struct gate_parts *p = gate->parts;

    if (p->n_ends < JOB_DEPENDENCIES_MOST)
        p->ends[p->n_ends++] = ends;
}

bool
element_gate_note_end(struct element_gate *gate, const struct element_ends *ends, int64_t index)
{
    int64_t id, own;

    if (index < 0 || index >= ends->tasks.total)
        return false;
    id = task_list_at(&ends->tasks, index);
    own = task_list_index(&gate->parts->tasks, id);
    return own >= 0 && judge_waiting(gate, own);
}

void
element_gate_drop(struct element_gate *gate, int64_t index)
{
    index_set_remove(&gate->never, index);
    index_set_remove(&gate->waiting, index);
}

enum job_dependency_verdict
element_gate_judge(const struct element_gate *gate)
{
    const int64_t total = gate->parts->tasks.total;

    if (index_set_count(&gate->never) == total && total > 0)
        return DEPENDENCY_IS_NEVER_MET;
    return index_set_count(&gate->waiting) == total ? DEPENDENCY_WAITS : DEPENDENCY_IS_MET;
}
