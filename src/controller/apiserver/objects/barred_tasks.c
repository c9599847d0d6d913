/* SPDX-License-Identifier: Apache-2.0 */
/* Each binding of a task asks whether just this task is held or cancelled, and the lists of an
 * array may have thousands of ranges. Tasks of one array are bound in turn, so the parsed
 * lists of the last few arrays are kept as long as the Job is the same object.
 */
#include "controller/apiserver/objects/barred_tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/text.h"

/* Arrays whose tasks are bound in turn. */
#define LISTS_KEPT 4

struct task_bars {
    const struct object *job; /* a reference; NULL: unused */
    struct arena *arena;
    struct task_list held, cancelled;
};

struct barred_tasks {
    struct task_bars lists[LISTS_KEPT];
    unsigned next; /* to be replaced */
};

struct barred_tasks *
barred_tasks_new(void)
{
    return xnew(struct barred_tasks);
}

static void
drop(struct task_bars *bars)
{
    if (bars->job == NULL)
        return;
    object_unref(bars->job);
    arena_free(bars->arena);
    *bars = (struct task_bars){0};
}

void
barred_tasks_free(struct barred_tasks *b)
{
    if (b == NULL)
        return;
    for (unsigned i = 0; i < LISTS_KEPT; i++)
        drop(&b->lists[i]);
    free(b);
}

/* The API server has validated the lists. */
static void
parse(struct arena *arena, const char *text, struct task_list *list)
{
    if (!text_is_set(text) || task_list_parse(arena, text, list, NULL) < 0)
        *list = (struct task_list){0};
}

static const struct task_bars *
find_lists(struct barred_tasks *b, const struct object *job)
{
    const struct job_array *array = job_of(job)->spec.array;
    struct task_bars *bars = &b->lists[b->next];

    for (unsigned i = 0; i < LISTS_KEPT; i++) {
        if (b->lists[i].job == job)
            return &b->lists[i];
        if (b->lists[i].job != NULL && strcmp(b->lists[i].job->meta->uid, job->meta->uid) == 0)
            bars = &b->lists[i];
    }
    if (bars == &b->lists[b->next])
        b->next = (b->next + 1) % LISTS_KEPT;
    drop(bars);
    bars->job = object_ref(job);
    bars->arena = arena_new(0);
    parse(bars->arena, array->held, &bars->held);
    parse(bars->arena, array->cancelled, &bars->cancelled);
    return bars;
}

const char *
barred_tasks_find(struct barred_tasks *b, const struct object *job, int64_t task)
{
    const struct job_array *array = job_of(job)->spec.array;
    const struct task_bars *bars;

    if (!text_is_set(array->held) && !text_is_set(array->cancelled))
        return NULL;
    bars = find_lists(b, job);
    if (task_list_index(&bars->cancelled, task) >= 0)
        return "cancelled";
    return task_list_index(&bars->held, task) >= 0 ? "held" : NULL;
}
