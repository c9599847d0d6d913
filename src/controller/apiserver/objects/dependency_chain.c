/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/dependency_chain.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define LINES_MOST 12
#define TASKS_MOST 4096 /* examined for one dependency */

/* The jobs whose lines are written or will be. */
struct chain {
    const struct apiserver *server;
    struct arena *arena;
    struct json *lines;
    const struct object *jobs[LINES_MOST + 1];
    size_t count;
};

static const struct object *
find_target(const struct chain *c, const struct job_dependency *d)
{
    const struct object *job;

    if (d->uid == NULL || d->namespace == NULL || d->name == NULL)
        return NULL;
    job = store_find(c->server->store, STORE_PUBLISHED, &job_kind, d->namespace, d->name);
    return job != NULL && strcmp(job->meta->uid, d->uid) == 0 ? job : NULL;
}

/* The combined state of these tasks if all have ended; else the array's state.
 */
static enum job_state
find_tasks_state(const struct chain *c, const struct job *array, const struct job_dependency *d)
{
    struct task_list all, wanted;
    struct element_chunk chunk = {0};
    enum job_state state = JOB_STATE_COMPLETED;
    struct error err = {0};
    int64_t number = -1;

    if (task_list_parse(c->arena, array->spec.array->tasks, &all, &err) < 0
        || task_list_parse(c->arena, d->tasks, &wanted, &err) < 0 || wanted.total > TASKS_MOST)
        return job_find_state(array);
    for (int64_t i = 0; i < wanted.total && state != JOB_STATE_NONE; i++) {
        const int64_t index = task_list_index(&all, task_list_at(&wanted, i));

        if (index >= 0 && index / ELEMENTS_A_CHUNK != number) {
            number = index / ELEMENTS_A_CHUNK;
            element_chunk_fini(&chunk);
            (void)element_record_read(c->server->store, array->meta.uid, number, &chunk);
        }
        switch (index >= 0 ? chunk.states[index % ELEMENTS_A_CHUNK] : ELEMENT_WAITING) {
        case ELEMENT_DONE:
            break;
        case ELEMENT_FAILED:
            state = JOB_STATE_FAILED;
            break;
        case ELEMENT_CANCELLED:
            state = JOB_STATE_CANCELLED;
            break;
        default:
            state = JOB_STATE_NONE;
            break;
        }
    }
    element_chunk_fini(&chunk);
    return state != JOB_STATE_NONE ? state : job_find_state(array);
}

static enum job_state
find_state(const struct chain *c, const struct job *waiter, const struct job *target,
           const struct job_dependency *d)
{
    if (target == NULL)
        return job_dependency_noted(waiter, d);
    return d->tasks != NULL && job_is_array(target) ? find_tasks_state(c, target, d)
                                                    : job_find_state(target);
}

static void
follow(struct chain *c, const struct object *job)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->jobs[i] == job)
            return;
    if (c->count <= LINES_MOST && job_waits_for_others(job_of(job)))
        c->jobs[c->count++] = job;
}

static void
add_line(struct chain *c, const struct job *waiter, const struct job_dependency *d)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *target = find_target(c, d);
    enum job_state state = find_state(c, waiter, target != NULL ? job_of(target) : NULL, d);
    struct json *line;

    if (job_state_is_ended(state)
        && job_dependency_judge_end(job_dependency_type_of(d->type), state) == DEPENDENCY_IS_MET
        && d->delay_s == 0)
        return; /* the dependency is met */
    job_dependency_format(d, &text);
    line = json_object(c->arena);
    json_set_int(c->arena, line, "job", waiter->status.id);
    json_set_string(c->arena, line, "dependency", arena_strdup(c->arena, text.text));
    if (state != JOB_STATE_NONE)
        json_set_string(c->arena, line, "state", job_state_words(state)->name);
    json_append(c->arena, c->lines, line);
    if (target != NULL)
        follow(c, target);
}

struct json *
dependency_chain(const struct apiserver *server, const struct object *job, struct arena *arena)
{
    struct chain c = {
        .server = server,
        .arena = arena,
        .lines = json_array(arena),
    };

    follow(&c, job);
    for (size_t at = 0; at < c.count; at++) {
        const struct job *waiter = job_of(c.jobs[at]);
        const struct job_dependencies *all = waiter->spec.dependencies;

        for (unsigned i = 0; i < all->jobs.count && json_count(c.lines) < LINES_MOST; i++)
            add_line(&c, waiter, &all->jobs.items[i]);
    }
    return c.count > 0 ? c.lines : NULL;
}
