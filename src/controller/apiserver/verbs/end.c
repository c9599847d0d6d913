/* SPDX-License-Identifier: Apache-2.0 */
/* end.c - GET jobs/NAME/end?uid=UID&id=NUMBER[&tasks=3-9]: how the Job of that
 * uid has ended, or these tasks of it; the Job may be gone
 *
 *   {"kind": "JobEnd", "uid": "...", "state": "Completed"}
 *
 * The job controller asks for the jobs that other jobs depend on. The answer is
 * a 404 when the Job is gone and history has no row of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/objects/ended_job.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

static void
reply_state(struct request *q, const char *uid, enum job_state state, const char *began)
{
    struct json *answer = json_object(q->arena);

    json_set_string(q->arena, answer, "apiVersion", "kiln.hpc/v1");
    json_set_string(q->arena, answer, "kind", "JobEnd");
    json_set_string(q->arena, answer, "uid", uid);
    json_set_string(q->arena, answer, "state", job_state_words(state)->name);
    if (began != NULL)
        json_set_string(q->arena, answer, "startTime", began);
    reply_tree(&q->reply, 200, answer);
}

static void
refuse_for_now(struct request *q, const char *words)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 503,
                              .reason = "ServiceUnavailable",
                              .message = words,
                              .retry_after_s = 1,
                          });
}

static void
found(struct request *q, const struct ended_job *job, const struct error *err, void *context)
{
    (void)context;
    if (err != NULL)
        refuse_for_now(q, arena_strdup(q->arena, err->text));
    else if (job == NULL)
        write_not_found(q);
    else
        reply_state(q, job->uid, job->state, job->began);
    request_finish(q);
}

static bool
read_tasks(struct request *q, const char *text, const struct task_list **ret_list)
{
    struct task_list *list = arena_alloc(q->arena, sizeof(*list));
    struct error err = {0};

    if (task_list_parse(q->arena, text, list, &err) < 0) {
        reply_bad_request(&q->reply, "tasks: %s", err.text);
        return false;
    }
    *ret_list = list;
    return true;
}

void
verb_get_end(struct request *q)
{
    const struct options *o = &q->options;
    const char *uid = parameter_find(o->parameters, o->n_parameters, "uid");
    const char *id = parameter_find(o->parameters, o->n_parameters, "id");
    const char *tasks = parameter_find(o->parameters, o->n_parameters, "tasks");
    const struct task_list *list = NULL;
    const struct object *object =
        store_find(q->server->store, STORE_PUBLISHED, &job_kind, q->route.namespace, q->route.name);

    if (uid == NULL || id == NULL) {
        reply_bad_request(&q->reply, "'uid' and 'id' of the Job are required");
        request_finish(q);
    } else if (tasks != NULL && !read_tasks(q, tasks, &list)) {
        request_finish(q);
    } else if (object != NULL && strcmp(object->meta->uid, uid) == 0) {
        if (list == NULL && job_is_finished(job_of(object)))
            reply_state(q, uid, job_find_state(job_of(object)), NULL);
        else
            refuse_for_now(q, "the Job still exists; its status shows how it "
                              "ended");
        request_finish(q);
    } else {
        ended_job_find(q, strtoll(id, NULL, 10), uid, list, true, found, NULL);
    }
}
