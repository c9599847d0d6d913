/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/task_layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"

static int64_t
read_number(const struct object *pod, const char *name)
{
    const char *text = string_map_find(&pod->meta->annotations, name);
    const int64_t value = text != NULL ? strtoll(text, NULL, 10) : 0;

    return value > 0 && value <= INT32_MAX ? value : 0;
}

void
task_layout_init(struct task_layout *n, struct arena *arena, const struct object *pod,
                 const char *list, const char *own)
{
    int64_t total = read_number(pod, ANNOTATION_TOTAL_TASKS);

    *n = (struct task_layout){.list = own, .most = read_number(pod, ANNOTATION_TASKS)};
    if (n->most == 0)
        n->most = 1;
    if (list != NULL && hostlist_expand(arena, list, &n->names, &n->count, NULL) == 0
        && n->count <= JOB_GANG_MAX) {
        n->list = list;
        while (n->own < n->count && strcmp(n->names[n->own], own) != 0)
            n->own++;
    }
    if (n->count == 0 || n->own == n->count) {
        n->names = arena_memdup(arena, &own, sizeof(own));
        n->count = 1;
        n->own = 0;
        n->list = own;
    }
    /* An update of the job changes the tasks of a node; then the former total is
     * not of these any more.
     */
    n->total = n->most * (int64_t)n->count;
    if (total > 0 && total < n->total && (total - 1) / (int64_t)n->count + 1 == n->most)
        n->total = total;
}

void
task_layout_set_tasks(struct task_layout *n, int64_t each)
{
    n->most = each;
    n->total = each * (int64_t)n->count;
}

int64_t
task_layout_tasks(const struct task_layout *n, size_t index)
{
    const int64_t count = (int64_t)n->count;

    return n->total / count + ((int64_t)index < n->total % count);
}

int64_t
task_layout_tasks_before(const struct task_layout *n, size_t index)
{
    const int64_t count = (int64_t)n->count, i = (int64_t)index, more = n->total % count;

    return n->total / count * i + (i < more ? i : more);
}

void
task_layout_format_tasks(const struct task_layout *n, struct strbuf *out)
{
    for (size_t i = 0, same; i < n->count; i += same) {
        for (same = 1;
             i + same < n->count && task_layout_tasks(n, i) == task_layout_tasks(n, i + same);)
            same++;
        strbuf_printf(out, "%s%" PRId64, i > 0 ? "," : "", task_layout_tasks(n, i));
        if (same > 1)
            strbuf_printf(out, "(x%zu)", same);
    }
}

void
task_layout_format_hostfile(const struct task_layout *n, struct strbuf *out)
{
    for (size_t i = 0; i < n->count; i++)
        strbuf_printf(out, "%s slots=%" PRId64 "\n", n->names[i], task_layout_tasks(n, i));
}

void
task_layout_format_machines(const struct task_layout *n, struct strbuf *out)
{
    for (size_t i = 0; i < n->count; i++)
        if (task_layout_tasks(n, i) > 0)
            strbuf_printf(out, "%s:%" PRId64 "\n", n->names[i], task_layout_tasks(n, i));
}
