/* SPDX-License-Identifier: Apache-2.0 */
/* The window is how many pods wait for nodes ahead of need. Too small, and nodes idle for the
 * time of a round trip; too large, and the queue fills with pods that differ in nothing. Twice
 * what started in the last second follows the cluster without a setting (decision 216); half
 * of an old second's count is carried over a pause, so that a short stall does not begin again
 * at 64.
 *
 * The list of waiting tasks in the status is for people, so it has a bound of pieces and of
 * work. It is written once more at the end of the array, longer, because then it is the record
 * of what never ran.
 */
#include "controller/lifecycle/job/array_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/job/array_ends.h"
#include "lib/api/job/job.h"
#include "lib/api/value/index_set.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define SECOND_US    1000000
#define LEAST_WINDOW 64
#define MOST_WINDOW  16384
#define PIECES       20  /* most pieces of the list of waiting tasks */
#define RUNS_WAITING 512 /* most runs that are visited for that list */

/* Limits for the list of tasks that never started. It is written once, and
 * users search it, so it is longer.
 */
#define PIECES_AT_END 200
#define RUNS_AT_END   1000000

/* From the record: the next attempt of a waiting element. */
struct array_try {
    int64_t index, attempt;
};

struct array_state {
    bool is_loaded, is_loading;
    bool must_read_again; /* a pod was removed while the record was read */
    bool must_visit;
    bool must_follow; /* read the lists again, even if they have not changed */

    struct arena *arena; /* for the lists of tasks */
    struct task_list tasks;
    char *held_text, *cancelled_text;
    struct index_set cancelled;
    struct index_set held;
    struct index_set requeued;
    struct index_set unstarted;
    struct array_try *tries;
    size_t n_tries, tries_room;
    struct element_gate *gate;
    int64_t n_vain;
    int64_t frontier;    /* no element below it may get a new pod */
    int64_t ended_below; /* all elements below it are settled or cancelled */

    int64_t second_us; /* monotonic; start of the second that `bound` counts */
    int64_t bound, bound_before;
    int64_t window; /* most pods without a node */

    struct array_ends ends;
};

struct array_state *
array_state_new(const struct job *job)
{
    struct array_state *a = xnew(struct array_state);
    struct error err = {0};

    a->arena = arena_new(0);
    array_ends_init(&a->ends);
    /* The API server has validated the list. */
    if (task_list_parse(a->arena, job->spec.array->tasks, &a->tasks, &err) < 0)
        a->tasks = (struct task_list){0};
    array_state_follow(a, job);
    return a;
}

void
array_state_free(struct array_state *a)
{
    if (a == NULL)
        return;
    array_ends_fini(&a->ends);
    index_set_fini(&a->cancelled);
    index_set_fini(&a->held);
    index_set_fini(&a->unstarted);
    index_set_fini(&a->requeued);
    free(a->tries);
    free(a->held_text);
    free(a->cancelled_text);
    arena_free(a->arena);
    free(a);
}

/* ---- Lists ---- */

/* If the tasks of a range are neighbours in the array, so are their indexes,
 * whatever the step.
 */
static void
add_tasks(struct array_state *a, const struct task_range *r, struct index_set *set)
{
    int64_t first = task_list_index(&a->tasks, r->first);
    int64_t last = task_list_index(&a->tasks, r->last);

    if (first >= 0 && last - first == (r->last - r->first) / r->step) {
        index_set_add_range(set, first, last);
        return;
    }
    for (int64_t id = r->first; id <= r->last; id += r->step) {
        int64_t index = task_list_index(&a->tasks, id);

        if (index >= 0)
            index_set_add(set, index);
    }
}

static void
add_list(struct array_state *a, const char *text, struct index_set *set)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct task_list list;
    struct error err = {0};

    if (text == NULL || task_list_parse(arena, text, &list, &err) < 0)
        return;
    for (size_t i = 0; i < list.count; i++)
        add_tasks(a, &list.ranges[i], set);
}

static void
replace_text(char **text, const char *with)
{
    free(*text);
    *text = with != NULL ? xstrdup(with) : NULL;
}

void
array_state_follow(struct array_state *a, const struct job *job)
{
    const struct job_array *array = job->spec.array;

    if (!a->must_follow && text_equals_loosely(a->held_text, array->held)
        && text_equals_loosely(a->cancelled_text, array->cancelled))
        return;
    a->must_follow = false;
    replace_text(&a->held_text, array->held);
    replace_text(&a->cancelled_text, array->cancelled);
    index_set_fini(&a->cancelled);
    index_set_fini(&a->held);
    add_list(a, array->cancelled, &a->cancelled);
    add_list(a, array->held, &a->held);
    a->frontier = 0;
    a->must_visit = true;
}

void
array_state_follow_again(struct array_state *a)
{
    a->must_follow = true;
}

const struct task_list *
array_state_tasks(const struct array_state *a)
{
    return &a->tasks;
}

const struct index_set *
array_state_cancelled(const struct array_state *a)
{
    return &a->cancelled;
}

void
array_state_hold(struct array_state *a, int64_t index)
{
    index_set_add(&a->held, index);
    a->ends.must_settle = true;
}

bool
array_state_is_cancelled(const struct array_state *a, int64_t index)
{
    return index_set_has(&a->cancelled, index);
}

bool
array_state_is_barred(const struct array_state *a, int64_t index)
{
    return index_set_has(&a->cancelled, index) || index_set_has(&a->held, index);
}

/* ---- Single elements ---- */

struct array_ends *
array_state_ends(struct array_state *a)
{
    return &a->ends;
}

void
array_state_requeue(struct array_state *a, int64_t index)
{
    index_set_add(&a->requeued, index);
    a->must_visit = true;
}

bool
array_state_is_requeued(const struct array_state *a, int64_t index)
{
    return index_set_has(&a->requeued, index);
}

void
array_state_end_requeue(struct array_state *a, int64_t index)
{
    index_set_remove(&a->requeued, index);
}

void
array_state_note_unstarted(struct array_state *a, int64_t index)
{
    index_set_add(&a->unstarted, index);
}

void
array_state_note_started(struct array_state *a, int64_t index)
{
    index_set_remove(&a->unstarted, index);
}

const struct index_set *
array_state_unstarted(const struct array_state *a)
{
    return &a->unstarted;
}

void
array_state_add_vain(struct array_state *a)
{
    a->n_vain++;
}

int64_t
array_state_n_vain(const struct array_state *a)
{
    return a->n_vain;
}

void
array_state_request_visit(struct array_state *a)
{
    a->must_visit = true;
}

bool
array_state_take_visit(struct array_state *a)
{
    const bool must_visit = a->must_visit;

    a->must_visit = false;
    return must_visit;
}

void
array_state_set_gate(struct array_state *a, struct element_gate *gate)
{
    a->gate = gate;
}

struct element_gate *
array_state_gate(const struct array_state *a)
{
    return a->gate;
}

/* ---- The next element ---- */

void
array_state_note_free(struct array_state *a, int64_t index)
{
    if (index < a->frontier)
        a->frontier = index;
}

void
array_state_note_settled(struct array_state *a, const struct index_set *settled)
{
    int64_t at = a->ended_below, before;

    do {
        before = at;
        at = index_set_gap(settled, at);
        at = index_set_gap(&a->cancelled, at);
    } while (at > before);
    a->ended_below = at;
}

int64_t
array_state_first(struct array_state *a, const struct index_set *taken)
{
    a->frontier = array_state_next(a, taken, a->frontier);
    return a->frontier;
}

int64_t
array_state_next(const struct array_state *a, const struct index_set *taken, int64_t index)
{
    int64_t at = index, before;

    do {
        before = at;
        at = index_set_gap(taken, at);
        at = index_set_gap(&a->cancelled, at);
        at = index_set_gap(&a->held, at);
        if (a->gate != NULL)
            at = index_set_gap(&a->gate->waiting, at);
    } while (at > before);
    return at;
}

/* ---- The record of elements ---- */

bool
array_state_is_loaded(const struct array_state *a)
{
    return a->is_loaded;
}

bool
array_state_begin_load(struct array_state *a)
{
    if (a->is_loaded || a->is_loading)
        return false;
    a->is_loading = true;
    return true;
}

bool
array_state_end_load(struct array_state *a)
{
    const bool is_current = !a->must_read_again;

    a->is_loading = false;
    a->must_read_again = false;
    return is_current;
}

void
array_state_note_removed(struct array_state *a)
{
    a->must_read_again = true;
}

void
array_state_set_loaded(struct array_state *a)
{
    a->is_loaded = true;
}

void
array_state_set_broken(struct array_state *a)
{
    a->is_loading = true;
}

void
array_state_add_try(struct array_state *a, int64_t index, int64_t attempt)
{
    if (a->n_tries == a->tries_room) {
        a->tries_room = a->tries_room > 0 ? 2 * a->tries_room : 16;
        a->tries = xrealloc_array(a->tries, a->tries_room, sizeof(*a->tries));
    }
    a->tries[a->n_tries++] = (struct array_try){index, attempt};
}

bool
array_state_take_try(struct array_state *a, int64_t *ret_index, int64_t *ret_attempt)
{
    if (a->n_tries == 0) {
        free(a->tries);
        a->tries = NULL;
        a->tries_room = 0;
        return false;
    }
    a->n_tries--;
    *ret_index = a->tries[a->n_tries].index;
    *ret_attempt = a->tries[a->n_tries].attempt;
    return true;
}

/* ---- The window ---- */

void
array_state_note_bound(struct array_state *a)
{
    a->bound++;
}

void
array_state_set_window(struct array_state *a, int64_t now_us)
{
    int64_t most;

    if (now_us - a->second_us >= SECOND_US) {
        a->bound_before = now_us - a->second_us < 2 * SECOND_US ? a->bound : a->bound / 2;
        a->bound = 0;
        a->second_us = now_us;
    }
    most = a->bound > a->bound_before ? a->bound : a->bound_before;
    a->window = 2 * most < MOST_WINDOW ? 2 * most : MOST_WINDOW;
    if (a->window < LEAST_WINDOW)
        a->window = LEAST_WINDOW;
}

int64_t
array_state_window(const struct array_state *a)
{
    return a->window;
}

/* ---- The waiting elements ---- */

/* Joins single ids at equal distances into one piece, so that a list of every
 * other task is not cut. Runs are of consecutive indexes.
 */
struct pieces {
    struct strbuf *out;
    unsigned count, most;       /* pieces written, and their limit */
    unsigned n_runs, most_runs; /* runs visited, and their limit */
    int64_t first, last, step;  /* of the ids that are not written yet */
    int64_t n_ids;              /* number of these ids */
    bool is_cut;
};

static void
write_piece(struct pieces *p, int64_t from, int64_t to, int64_t step)
{
    if (p->is_cut)
        return;
    if (p->count == p->most) {
        p->is_cut = true;
        strbuf_add_text(p->out, ",...");
        return;
    }
    strbuf_printf(p->out, "%s%" PRId64, p->out->length > 0 ? "," : "", from);
    if (to > from)
        strbuf_printf(p->out, "-%" PRId64, to);
    if (to > from && step > 1)
        strbuf_printf(p->out, ":%" PRId64, step);
    p->count++;
}

static void
end_piece(struct pieces *p)
{
    if (p->n_ids > 2)
        write_piece(p, p->first, p->last, p->step);
    else if (p->n_ids > 0) {
        write_piece(p, p->first, p->first, 1);
        if (p->n_ids == 2)
            write_piece(p, p->last, p->last, 1);
    }
    p->n_ids = 0;
}

static void
add_piece(struct pieces *p, int64_t from, int64_t to, int64_t step)
{
    if (to > from) {
        end_piece(p);
        write_piece(p, from, to, step);
        return;
    }
    if (p->n_ids > 1 && from - p->last != p->step)
        end_piece(p);
    if (p->n_ids == 0)
        p->first = from;
    else
        p->step = from - p->last;
    p->last = from;
    p->n_ids++;
}

/* Adds a run of consecutive indexes, split at the array's ranges. False: the
 * list is full.
 */
static bool
add_run(struct pieces *p, const struct array_state *a, int64_t first, int64_t last)
{
    if (p->n_runs++ == p->most_runs) {
        end_piece(p);
        p->most = p->count;
        write_piece(p, 0, 0, 1);
    }
    for (size_t i = 0; i < a->tasks.count && first <= last && !p->is_cut; i++) {
        const struct task_range *r = &a->tasks.ranges[i];
        int64_t n = (r->last - r->first) / r->step + 1;
        int64_t end = r->before + n - 1 < last ? r->before + n - 1 : last;

        if (first >= r->before + n)
            continue;
        add_piece(p, r->first + (first - r->before) * r->step,
                  r->first + (end - r->before) * r->step, r->step);
        first = end + 1;
    }
    return !p->is_cut;
}

void
array_state_format_waiting(const struct array_state *a, const struct index_set *taken,
                           struct strbuf *out)
{
    const struct index_set *cancelled = &a->cancelled;
    struct pieces p = {
        .out = out,
        .most = PIECES,
        .most_runs = RUNS_WAITING,
    };

    for (int64_t at = a->ended_below; at < a->tasks.total;) {
        int64_t end;

        at = index_set_gap(taken, at);
        if (index_set_has(cancelled, at)) {
            at = index_set_gap(cancelled, at);
            continue;
        }
        end = index_set_next(taken, at);
        if (index_set_next(cancelled, at) < end)
            end = index_set_next(cancelled, at);
        if (end > a->tasks.total)
            end = a->tasks.total;
        if (at >= end || !add_run(&p, a, at, end - 1))
            break;
        at = end;
    }
    end_piece(&p);
}

void
array_state_format(const struct array_state *a, const struct index_set *indexes, struct strbuf *out)
{
    struct pieces p = {
        .out = out,
        .most = PIECES_AT_END,
        .most_runs = RUNS_AT_END,
    };

    for (size_t i = 0; i < indexes->count; i++)
        if (!add_run(&p, a, indexes->ranges[i].first, indexes->ranges[i].last))
            break;
    end_piece(&p);
}
