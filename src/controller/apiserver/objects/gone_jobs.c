/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/gone_jobs.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "controller/apiserver/objects/ended_job.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

struct gone_jobs_search {
    struct request *q;
    gone_jobs_fn *then;
    struct sought {
        int64_t id;
        const struct task_list *tasks; /* of an array; NULL: the whole job */
        const char *key;
    } jobs[JOB_DEPENDENCIES_MOST];
    unsigned count, at;
};

static bool
find_first(const struct object *object, void *context)
{
    *(const struct object **)context = object;
    return false;
}

static bool
is_there(const struct request *q, int64_t id)
{
    const struct object *object = NULL;
    char value[DECIMAL_SIZE];

    store_visit_index(q->server->store, &job_kind, JOB_BY_ID, STORE_PENDING, decimal_of(id, value),
                      find_first, &object);
    return object != NULL;
}

const char *
gone_jobs_key(struct arena *arena, const struct json *dependency)
{
    const char *tasks = json_get_text(dependency, "tasks");
    struct error err = {0};

    if (tasks != NULL && job_dependency_tidy_tasks(arena, &tasks, &err) < 0)
        return NULL;
    return arena_printf(arena, "%" PRId64 "_%s", json_get_int(dependency, "job", 0),
                        tasks != NULL ? tasks : "");
}

/* Skips invalid dependencies: admission refuses them with a message. */
static void
take(struct gone_jobs_search *s, const struct json *dependency)
{
    const int64_t id = json_get_int(dependency, "job", 0);
    const char *key = gone_jobs_key(s->q->arena, dependency);
    struct task_list *tasks;
    struct error err = {0};

    if (id <= 0 || key == NULL || s->count == JOB_DEPENDENCIES_MOST || is_there(s->q, id))
        return;
    for (unsigned i = 0; i < s->count; i++)
        if (strcmp(s->jobs[i].key, key) == 0)
            return;
    s->jobs[s->count] = (struct sought){.id = id, .key = key};
    if (json_get(dependency, "tasks") != NULL) {
        tasks = arena_alloc(s->q->arena, sizeof(*tasks));
        if (task_list_parse(s->q->arena, strchr(key, '_') + 1, tasks, &err) < 0)
            return;
        s->jobs[s->count].tasks = tasks;
    }
    s->count++;
}

static void search_next(struct gone_jobs_search *s);

static void
found(struct request *q, const struct ended_job *job, const struct error *err, void *context)
{
    struct gone_jobs_search *s = context;
    char id[DECIMAL_SIZE];

    if (err != NULL) {
        reply_fail(&q->reply,
                   &(struct reply_failure){
                       .code = 503,
                       .reason = "ServiceUnavailable",
                       .message = arena_printf(q->arena,
                                               "cannot find out whether there was a "
                                               "job %s: %s",
                                               decimal_of(s->jobs[s->at].id, id), err->text),
                       .retry_after_s = 1,
                   });
        request_finish(q);
        return;
    }
    if (job != NULL)
        (void)map_put(q->gone_jobs, s->jobs[s->at].key, arena_memdup(q->arena, job, sizeof(*job)));
    s->at++;
    search_next(s);
}

static void
search_next(struct gone_jobs_search *s)
{
    if (s->at < s->count)
        ended_job_find(s->q, s->jobs[s->at].id, NULL, s->jobs[s->at].tasks, s->at == 0, found, s);
    else
        s->then(s->q);
}

void
gone_jobs_find(struct request *q, gone_jobs_fn *then)
{
    const struct json *list = json_get_path(q->body, "spec.dependencies.jobs");
    struct gone_jobs_search *s;

    if (q->route.subresource != SUBRESOURCE_NONE || q->server->history == NULL
        || json_count(list) == 0) {
        then(q);
        return;
    }
    s = arena_alloc(q->arena, sizeof(*s));
    *s = (struct gone_jobs_search){.q = q, .then = then};
    for (uint32_t i = 0; i < json_count(list); i++)
        if (q->route.verb == VERB_CREATE || json_get_text(json_at(list, i), "uid") == NULL)
            take(s, json_at(list, i));
    if (s->count > 0)
        q->gone_jobs = map_new();
    search_next(s);
}
