/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/dependency_chain.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define LINES_MOST 12

/* The jobs whose lines are there, or come. */
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
    job = store_find(c->server->store,
                     STORE_PUBLISHED,
                     &job_kind,
                     d->namespace,
                     d->name);
    return job != NULL && strcmp(job->meta->uid, d->uid) == 0 ? job : NULL;
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
add_line(struct chain *c,
         const struct job *waiter,
         const struct job_dependency *d)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *target = find_target(c, d);
    enum job_state state = target != NULL ? job_find_state(job_of(target))
                                          : job_dependency_noted(waiter, d);
    struct json *line;

    if (job_state_is_ended(state)
        && job_dependency_judge_end(job_dependency_type_of(d->type), state)
               == DEPENDENCY_IS_MET
        && d->delay_s == 0)
        return; /* it is not waited for any more */
    job_dependency_format(d, &text);
    line = json_object(c->arena);
    json_set_int(c->arena, line, "job", waiter->status.id);
    json_set_string(c->arena,
                    line,
                    "dependency",
                    arena_strdup(c->arena, text.text));
    if (state != JOB_STATE_NONE)
        json_set_string(c->arena, line, "state", job_state_words(state)->name);
    json_append(c->arena, c->lines, line);
    if (target != NULL)
        follow(c, target);
}

struct json *
dependency_chain(const struct apiserver *server,
                 const struct object *job,
                 struct arena *arena)
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

        for (unsigned i = 0;
             i < all->jobs.count && json_count(c.lines) < LINES_MOST;
             i++)
            add_line(&c, waiter, &all->jobs.items[i]);
    }
    return c.count > 0 ? c.lines : NULL;
}
