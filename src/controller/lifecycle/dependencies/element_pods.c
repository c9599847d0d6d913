/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/dependencies/element_pods.h"

#include <stddef.h>
#include <stdlib.h>

#include "controller/lifecycle/dependencies/element_ends.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

int64_t
element_pods_index(const struct object *pod)
{
    const char *text = string_map_find(&pod->meta->annotations, ANNOTATION_INDEX);

    return text != NULL ? strtoll(text, NULL, 10) : -1;
}

int64_t
element_pods_start(const struct object *pod)
{
    struct container_state state;

    return pod_main_state(pod_of(pod), &state) ? state.started_at_us : 0;
}

static void
see_start(const struct object *pod, void *context)
{
    const int64_t index = element_pods_index(pod);

    if (index >= 0 && element_pods_start(pod) != 0)
        element_ends_begin(context, index);
}

void
element_pods_see_starts(const struct object_cache *cache, const char *uid,
                        struct element_ends *ends)
{
    object_cache_visit_owned(cache, uid, see_start, ends);
}

/* ---- Cancelled elements ---- */

static void
add_index(const struct object *pod, void *context)
{
    const int64_t index = element_pods_index(pod);

    if (index >= 0)
        index_set_add(context, index);
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Marks those indexes of a range as cancelled that are in none of the sets. */
static void
cancel_range(struct element_ends *ends, const struct index_set *with_pod, int64_t first,
             int64_t last)
{
    const struct index_set *sets[] = {&ends->ok, &ends->bad, with_pod};

    for (int64_t at = first, end; at <= last; at = end) {
        int64_t before;

        do {
            before = at;
            for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
                at = index_set_gap(sets[i], at);
        } while (at > before);
        end = last + 1;
        for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
            end = least(end, index_set_next(sets[i], at));
        if (at >= end)
            return;
        index_set_add_range(&ends->bad, at, end - 1);
        index_set_add_range(&ends->cancelled, at, end - 1);
    }
}

static void
cancel_tasks(struct element_ends *ends, const struct index_set *with_pod,
             const struct task_range *r)
{
    const int64_t first = task_list_index(&ends->tasks, r->first);
    const int64_t last = task_list_index(&ends->tasks, r->last);

    if (first >= 0 && last - first == (r->last - r->first) / r->step) {
        cancel_range(ends, with_pod, first, last);
        return;
    }
    for (int64_t id = r->first; id <= r->last; id += r->step) {
        const int64_t index = task_list_index(&ends->tasks, id);

        if (index >= 0)
            cancel_range(ends, with_pod, index, index);
    }
}

void
element_pods_see_cancelled(const struct object_cache *cache, const char *uid, const char *tasks,
                           struct element_ends *ends)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct index_set with_pod = {0};
    struct task_list list;
    struct error err = {0};

    if (tasks == NULL || task_list_parse(arena, tasks, &list, &err) < 0 || list.total == 0)
        return;
    object_cache_visit_owned(cache, uid, add_index, &with_pod);
    for (size_t i = 0; i < list.count; i++)
        cancel_tasks(ends, &with_pod, &list.ranges[i]);
    index_set_fini(&with_pod);
}

/* ---- Times ---- */

struct last_start {
    const struct element_ends *ends;
    const struct task_list *tasks;
    int64_t began_us;
};

static void
take_start(const struct object *pod, void *context)
{
    struct last_start *last = context;
    const int64_t index = element_pods_index(pod);
    const int64_t began_us = element_pods_start(pod);

    if (index >= 0 && index < last->ends->tasks.total && began_us > last->began_us
        && task_list_index(last->tasks, task_list_at(&last->ends->tasks, index)) >= 0)
        last->began_us = began_us;
}

int64_t
element_pods_last_start(const struct object_cache *cache, const char *uid,
                        const struct element_ends *ends, const struct task_list *tasks)
{
    struct last_start last = {ends, tasks, 0};

    object_cache_visit_owned(cache, uid, take_start, &last);
    return last.began_us;
}
