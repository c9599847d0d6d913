/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/dependencies/task_watch.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_ends.h"
#include "lib/api/value/index_set.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/map.h"

struct task_watches {
    task_watch_changed_fn *changed;
    void *context;
    struct map *by_key;
    struct map *by_index; /* struct list of watches */
};

/* ---- Watches registered at an index ---- */

static void
leave_index(struct task_watches *all, struct task_watch *w)
{
    char index[DECIMAL_SIZE];
    struct list *here;

    if (w->index < 0)
        return;
    list_remove(&w->at);
    here = map_find(all->by_index, decimal_of(w->index, index));
    if (here != NULL && list_is_empty(here))
        free(map_remove(all->by_index, decimal_of(w->index, index)));
    w->index = -1;
}

static void
stand_at(struct task_watches *all, struct task_watch *w, int64_t at)
{
    char index[DECIMAL_SIZE];
    struct list *here = map_find(all->by_index, decimal_of(at, index));

    if (here == NULL) {
        here = xnew(struct list);
        list_init(here);
        map_put(all->by_index, decimal_of(at, index), here);
    }
    list_add_last(here, &w->at);
    w->index = at;
}

/* ---- Judging ---- */

/* The first index at or after `from` that is in none of the sets. */
static int64_t
find_gap(const struct index_set *const *sets, size_t n, int64_t from)
{
    int64_t at = from, before;

    do {
        before = at;
        for (size_t i = 0; i < n; i++)
            at = index_set_gap(sets[i], at);
    } while (at > before);
    return at;
}

/* The first index at or after `index` whose task is not in the state that the
 * watch waits for.
 */
static int64_t
find_open(const struct task_watch *w, const struct element_ends *ends, int64_t index)
{
    const struct index_set *sets[] = {&ends->ok, &ends->bad, &ends->begun};

    switch (w->type) {
    case DEPENDENCY_OK:
        return find_gap(sets, 1, index);
    case DEPENDENCY_AFTER:
        return find_gap(sets, 3, index);
    default:
        return find_gap(sets, 2, index);
    }
}

/* The first position at or after `from` whose id is not below `id`. */
static int64_t
find_position(const struct task_list *list, int64_t from, int64_t id)
{
    int64_t low = from, high = list->total;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (task_list_at(list, middle) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Advances the position past all tasks in the awaited state; tasks that are
 * neighbours in the array are passed in one step.
 */
static void
pass_ended(struct task_watch *w, const struct element_ends *ends)
{
    while (w->position < w->list.total) {
        const int64_t id = task_list_at(&w->list, w->position);
        const int64_t index = task_list_index(&ends->tasks, id);
        const int64_t open = index >= 0 ? find_open(w, ends, index) : -1;

        if (index < 0 || open == index)
            return;
        w->position = open >= ends->tasks.total ? w->list.total
                                                : find_position(&w->list, w->position + 1,
                                                                task_list_at(&ends->tasks, open));
    }
}

/* COMPLETED: all tasks have completed. Otherwise the end of the first task that
 * has not completed, or NONE if it has not ended.
 */
static enum job_state
find_end(const struct task_watch *w, const struct element_ends *ends)
{
    struct task_watch look = {.type = DEPENDENCY_OK, .list = w->list};
    int64_t index;

    if (ends->is_whole_ok)
        return JOB_STATE_COMPLETED;
    pass_ended(&look, ends);
    if (look.position == look.list.total)
        return JOB_STATE_COMPLETED;
    index = task_list_index(&ends->tasks, task_list_at(&look.list, look.position));
    if (index < 0)
        return JOB_STATE_CANCELLED; /* there is no such task */
    if (index_set_has(&ends->bad, index) && !index_set_has(&ends->cancelled, index))
        return JOB_STATE_FAILED;
    return ends->is_over || index_set_has(&ends->bad, index) ? JOB_STATE_CANCELLED : JOB_STATE_NONE;
}

/* The task that has decided, -1: none. */
static int64_t
index_of_first(const struct task_watch *w, const struct element_ends *ends)
{
    return ends->is_known && w->position < w->list.total
               ? task_list_index(&ends->tasks, task_list_at(&w->list, w->position))
               : -1;
}

/* Whoever waits for the success of a task that has failed may be held until the task has
 * run again.
 */
static bool
runs_again(const struct task_watch *w, const struct element_ends *ends)
{
    const int64_t index = index_of_first(w, ends);

    return !ends->is_over && index >= 0 && !index_set_has(&ends->bad, index);
}

static enum job_dependency_verdict
judge(struct task_watch *w, const struct element_ends *ends)
{
    const bool is_read = ends->is_loaded && !ends->is_lost;

    if (w->ended != JOB_STATE_NONE && runs_again(w, ends))
        w->ended = JOB_STATE_NONE;
    if (w->ended != JOB_STATE_NONE)
        return job_dependency_judge_end(w->type, w->ended);
    if (!ends->is_known && !ends->is_whole_ok)
        return DEPENDENCY_WAITS;
    pass_ended(w, ends);
    if (w->position < w->list.total && !ends->is_whole_ok) {
        const int64_t index = task_list_index(&ends->tasks, task_list_at(&w->list, w->position));

        const bool is_bad =
            index < 0 || (w->type == DEPENDENCY_OK && index_set_has(&ends->bad, index));

        if (!is_bad && (!ends->is_over || !is_read))
            return DEPENDENCY_WAITS;
    } else if (w->type == DEPENDENCY_AFTER)
        return DEPENDENCY_IS_MET;
    w->ended = find_end(w, ends);
    return job_dependency_judge_end(w->type, w->ended);
}

static void
set_verdict(struct task_watches *all, struct task_watch *w, enum job_dependency_verdict verdict)
{
    if (verdict == w->verdict)
        return;
    w->verdict = verdict;
    all->changed(w, all->context);
}

/* ---- Changes ---- */

void
task_watches_check(struct task_watches *all, struct task_watch *w, const struct element_ends *ends)
{
    const enum job_dependency_verdict verdict = judge(w, ends);
    const int64_t index = index_of_first(w, ends);

    leave_index(all, w);
    if (index >= 0
        && (verdict == DEPENDENCY_WAITS || (verdict == DEPENDENCY_IS_NEVER_MET && !ends->is_over)))
        stand_at(all, w, index);
    set_verdict(all, w, verdict);
}

void
task_watches_settle(struct task_watches *all, struct task_watch *w, enum job_state state)
{
    leave_index(all, w);
    w->ended = state;
    set_verdict(all, w, job_dependency_judge_end(w->type, state));
}

void
task_watches_note_end(struct task_watches *all, const struct element_ends *ends, int64_t index)
{
    char text[DECIMAL_SIZE];
    struct list *here = map_find(all->by_index, decimal_of(index, text));
    struct list these;

    if (here == NULL)
        return;
    list_take_over(&these, here);
    free(map_remove(all->by_index, decimal_of(index, text)));
    while (!list_is_empty(&these)) {
        struct task_watch *w = container_of(these.next, struct task_watch, at);

        list_remove(&w->at);
        w->index = -1;
        task_watches_check(all, w, ends);
    }
}

void
task_watches_check_all(struct task_watches *all, const struct element_ends *ends)
{
    struct task_watch *w;
    size_t at = 0;

    while (task_watches_next(all, &at, &w)) {
        w->position = 0;
        if (!ends->is_lost)
            w->ended = JOB_STATE_NONE;
        task_watches_check(all, w, ends);
    }
}

struct task_watch *
task_watches_get(struct task_watches *all, enum job_dependency_type type, const char *tasks)
{
    CLEANUP_FREE char *key = xasprintf("%d %s", (int)type, tasks);
    struct task_watch *w = map_find(all->by_key, key);
    struct error err = {0};

    if (w != NULL)
        return w;
    w = xnew(struct task_watch);
    list_init(&w->at);
    list_init(&w->waiters);
    w->arena = arena_new(0);
    w->type = type;
    w->key = xstrdup(key);
    w->tasks = strchr(w->key, ' ') + 1;
    w->index = -1;
    /* The API server has validated the list. */
    if (task_list_parse(w->arena, tasks, &w->list, &err) < 0)
        w->list = (struct task_list){0};
    map_put(all->by_key, w->key, w);
    return w;
}

static void
free_watch(struct task_watch *w)
{
    arena_free(w->arena);
    free(w->key);
    free(w);
}

void
task_watches_drop(struct task_watches *all, struct task_watch *w)
{
    leave_index(all, w);
    map_remove(all->by_key, w->key);
    free_watch(w);
}

/* ---- Look, life ---- */

enum job_state
task_watch_end(const struct task_watch *w)
{
    return w->ended == JOB_STATE_NONE && w->verdict == DEPENDENCY_IS_MET ? JOB_STATE_COMPLETED
                                                                         : w->ended;
}

struct task_watch *
task_watches_find(const struct task_watches *all, const char *key)
{
    return map_find(all->by_key, key);
}

bool
task_watches_next(const struct task_watches *all, size_t *at, struct task_watch **ret_watch)
{
    void *watch;

    if (!map_next(all->by_key, at, NULL, &watch))
        return false;
    *ret_watch = watch;
    return true;
}

struct task_watches *
task_watches_new(task_watch_changed_fn *changed, void *context)
{
    struct task_watches *all = xnew(struct task_watches);

    all->changed = changed;
    all->context = context;
    all->by_key = map_new();
    all->by_index = map_new();
    return all;
}

void
task_watches_free(struct task_watches *all)
{
    size_t at = 0;
    void *value;

    if (all == NULL)
        return;
    while (map_next(all->by_index, &at, NULL, &value))
        free(value);
    at = 0;
    while (map_next(all->by_key, &at, NULL, &value))
        free_watch(value);
    map_free(all->by_index);
    map_free(all->by_key);
    free(all);
}
