/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_array_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"

#define MOST_TEXT 2048 /* bytes of a list; the rest is not shown */

/* The task id of the pod; -1: none. */
static int64_t
task_of(const struct object *pod)
{
    const char *text = string_map_find(&pod->meta->annotations, ANNOTATION_ARRAY_TASK);
    char *end;
    long long id;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return -1;
    id = strtoll(text, &end, 10);
    return *end == '\0' && id <= TASK_ID_MOST ? id : -1;
}

static bool
has_node(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

/* Collects all pods in `running`; finish removes those that wait. */
void
job_array_summary_add(struct job_array_summary *s, struct arena *arena, const struct object *pod)
{
    const int64_t id = task_of(pod);

    if (id < 0)
        return;
    if (s->n_running == s->capacity) {
        const size_t capacity = s->capacity > 0 ? 2 * s->capacity : 64;
        struct job_array_task *tasks = arena_new_array(arena, struct job_array_task, capacity);

        if (s->n_running > 0)
            memcpy(tasks, s->running, s->n_running * sizeof(*tasks));
        s->running = tasks;
        s->capacity = capacity;
    }
    s->running[s->n_running++] = (struct job_array_task){.id = id, .pod = pod_of(pod)};
}

static int
compare(const void *a, const void *b)
{
    const struct job_array_task *x = a;
    const struct job_array_task *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* The list of sorted ids, which may contain duplicates. */
static struct task_list
list_of(struct arena *arena, const int64_t *ids, size_t count)
{
    struct task_range *ranges = arena_new_array(arena, struct task_range, count + 1);
    struct task_list list = {0};
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (n == 0 || ids[i] > ranges[n - 1].last)
            ranges[n++] = (struct task_range){.first = ids[i], .last = ids[i], .step = 1};
    if (task_list_of_ranges(arena, ranges, n, &list, NULL) < 0)
        return (struct task_list){0};
    return list;
}

static struct task_list
parse(struct arena *arena, const char *text)
{
    struct task_list list = {0};
    const char *cut = text != NULL ? strstr(text, ",...") : NULL;

    if (text == NULL)
        return list;
    if (strlen(text) > MOST_TEXT) {
        cut = text + MOST_TEXT;
        while (cut > text && *cut != ',')
            cut--;
    }
    if (cut != NULL)
        text = arena_strndup(arena, text, (size_t)(cut - text));
    if (task_list_parse(arena, text, &list, NULL) < 0)
        return (struct task_list){0};
    return list;
}

static bool
is_cut(const char *text)
{
    return text != NULL && (strlen(text) > MOST_TEXT || strstr(text, ",...") != NULL);
}

/* The union of both lists, or the first list if the union is too fragmented. */
static struct task_list
both(struct arena *arena, const struct task_list *a, const struct task_list *b)
{
    struct task_list all;

    return task_sets_unite(arena, a, b, &all, NULL) < 0 ? *a : all;
}

static struct task_list
without(struct arena *arena, const struct task_list *a, const struct task_list *b)
{
    struct task_list rest;

    return task_sets_subtract(arena, a, b, &rest, NULL) < 0 ? *a : rest;
}

/* The waiting tasks as text. Without status.array no task waits if the Job has
 * had pods, and all tasks wait if it has not.
 */
static const char *
name_waiting(const struct job *job)
{
    if (job->status.array != NULL)
        return job->status.array->waiting;
    return job->status.attempts == 0 ? job->spec.array->tasks : NULL;
}

/* The status may be missing or outdated, and pods are more recent. Cancelled
 * tasks do not wait.
 */
static struct task_list
find_waiting(struct arena *arena, const struct job *job, const struct task_list *placed,
             const struct task_list *unplaced)
{
    const struct task_list cancelled = parse(arena, job->spec.array->cancelled);
    struct task_list list = parse(arena, name_waiting(job));

    list = both(arena, &list, unplaced);
    list = without(arena, &list, placed);
    return without(arena, &list, &cancelled);
}

void
job_array_summary_finish(struct job_array_summary *s, struct arena *arena, const struct job *job)
{
    const struct task_list held = parse(arena, job->spec.array->held);
    int64_t *placed = arena_new_array(arena, int64_t, s->n_running + 1);
    int64_t *unplaced = arena_new_array(arena, int64_t, s->n_running + 1);
    struct task_list all, waiting;
    size_t n_placed = 0, n_unplaced = 0, n = 0;

    if (s->n_running > 1)
        qsort(s->running, s->n_running, sizeof(*s->running), compare);
    for (size_t i = 0; i < s->n_running; i++) {
        const struct job_array_task *task = &s->running[i];

        if (!has_node(task->pod) && !pod_is_finished(task->pod)) {
            unplaced[n_unplaced++] = task->id;
            if (s->first_waiting == NULL)
                s->first_waiting = task->pod;
            continue;
        }
        placed[n_placed++] = task->id;
        if (!pod_is_finished(task->pod))
            s->running[n++] = *task;
    }
    s->n_running = n;
    all = list_of(arena, placed, n_placed);
    waiting = list_of(arena, unplaced, n_unplaced);
    s->waiting = find_waiting(arena, job, &all, &waiting);
    s->is_waiting_cut = is_cut(name_waiting(job));
    if (held.total > 0 && task_sets_intersect(arena, &s->waiting, &held, &s->held, NULL) == 0)
        s->waiting = without(arena, &s->waiting, &held);
}

/* The length of the first ids, as far as they fit. */
static size_t
cut_list(const struct strbuf *text, size_t most_bytes)
{
    size_t length = text->length;

    if (length <= most_bytes)
        return length;
    length = most_bytes;
    while (length > 1 && text->text[length] != ',')
        length--;
    return length;
}

const char *
job_array_summary_list(struct arena *arena, const struct task_list *tasks, const int64_t *throttle,
                       size_t most_bytes)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    task_list_format(tasks, &text);
    strbuf_truncate(&text, cut_list(&text, most_bytes));
    if (throttle != NULL)
        strbuf_printf(&text, "%%%" PRId64, *throttle);
    return arena_strdup(arena, text.text);
}

static const char *
format_text(struct arena *arena, int64_t job, const struct task_list *tasks, bool is_cut,
            size_t most_bytes)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    size_t length;

    task_list_format(tasks, &text);
    if (tasks->total == 1 && !is_cut)
        return arena_printf(arena, "%" PRId64 "_%s", job, text.text);
    length = cut_list(&text, most_bytes);
    is_cut = is_cut || length < text.length;
    return arena_printf(arena, "%" PRId64 "_[%.*s%s]", job, (int)length,
                        length > 0 ? text.text : "", is_cut ? ",..." : "");
}

const char *
job_array_summary_text(struct arena *arena, int64_t job, const struct task_list *tasks,
                       size_t most_bytes)
{
    return format_text(arena, job, tasks, false, most_bytes);
}

const char *
job_array_summary_waiting_text(struct arena *arena, int64_t job, const struct job_array_summary *s,
                               size_t most_bytes)
{
    return format_text(arena, job, &s->waiting, s->is_waiting_cut, most_bytes);
}
