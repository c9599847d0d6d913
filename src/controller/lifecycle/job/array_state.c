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
#include "lib/api/job/job.h"
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

struct array_state *
array_state_new(const struct job *job)
{
    struct array_state *a = xnew(struct array_state);
    struct error err = {0};

    a->arena = arena_new(0);
    list_init(&a->ends);
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
    list_foreach_safe(pos, &a->ends)
        array_state_drop_end(a, container_of(pos, struct array_end, link));
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
    a->must_look = true;
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

/* ---- Ends ---- */

struct array_end *
array_state_add_end(struct array_state *a, const char *pod, const char *uid, int64_t index,
                    enum array_outcome outcome)
{
    struct array_end *end = xnew(struct array_end);

    end->pod = pod != NULL ? xstrdup(pod) : NULL;
    end->uid = uid != NULL ? xstrdup(uid) : NULL;
    end->index = index;
    end->outcome = outcome;
    end->of_attempt = -1;
    list_add_last(&a->ends, &end->link);
    a->n_ends++;
    return end;
}

void
array_state_drop_end(struct array_state *a, struct array_end *end)
{
    list_remove(&end->link);
    a->n_ends--;
    free(end->pod);
    free(end->uid);
    free(end);
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
