/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/task_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/log_options.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/history/history_question.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define ATTEMPTS_MOST 1000 /* of one task */

static const char *
find_option(const struct request *q, const char *name)
{
    return parameter_find(q->options.parameters, q->options.n_parameters, name);
}

/* ---- The request ---- */

static bool
read_number(struct request *q, const char *name, int64_t *ret_number)
{
    const char *text = find_option(q, name);

    *ret_number = 0;
    if (text == NULL)
        return true;
    if (!option_integer(&q->reply, text, ret_number))
        return false;
    if (*ret_number >= 0)
        return true;
    reply_bad_request(&q->reply, "%s: '%s' is less than 0", name, text);
    return false;
}

bool
task_log_read(struct request *q, struct task_log *log)
{
    const char *previous = find_option(q, "previous");
    struct error err = {0};
    struct task_list tasks;

    *log = (struct task_log){.job = write_find(q)};
    if (log->job == NULL || !authorization_covers(q, log->job))
        return false;
    log->job_uid = arena_strdup(q->arena, log->job->meta->uid);
    if (!job_is_array(job_of(log->job))) {
        reply_bad_request(&q->reply,
                          "job '%s' is not a job array; the log of its pod is "
                          "pods/NAME/log",
                          log->job->meta->name);
        return false;
    }
    if (find_option(q, "task") == NULL) {
        reply_bad_request(&q->reply, "which task? jobs/%s/log?task=NUMBER", log->job->meta->name);
        return false;
    }
    if (!read_number(q, "task", &log->task) || !read_number(q, "attempt", &log->attempt))
        return false;
    log->is_previous =
        previous != NULL && (strcmp(previous, "true") == 0 || strcmp(previous, "1") == 0);
    if (log->is_previous && log->attempt > 0) {
        reply_bad_request(&q->reply, "give either attempt or previous, not both");
        return false;
    }
    if (task_list_parse(q->arena, job_of(log->job)->spec.array->tasks, &tasks, &err) < 0) {
        reply_internal(&q->reply, "spec.array.tasks: %s", err.text);
        return false;
    }
    log->index = task_list_index(&tasks, log->task);
    if (log->index >= 0)
        return true;
    reply_bad_request(&q->reply, "job '%s' has no task %" PRId64 "; it has %.80s",
                      log->job->meta->name, log->task, job_of(log->job)->spec.array->tasks);
    return false;
}

/* ---- Its pod ---- */

static int64_t
attempt_of(const struct object *pod)
{
    const char *text = string_map_find(&pod->meta->annotations, ANNOTATION_ATTEMPT);

    return text != NULL ? strtoll(text, NULL, 10) + 1 : 1;
}

/* Finds the pod by its name, which costs the same for any number of pods. */
static const struct object *
find_attempt(struct request *q, const struct task_log *log, int64_t attempt)
{
    const char *name = log->job->meta->name;
    const struct object *pod;

    if (attempt < 1)
        return NULL;
    name = attempt == 1
               ? arena_printf(q->arena, "%s-%" PRId64, name, log->index)
               : arena_printf(q->arena, "%s-%" PRId64 "-r%" PRId64, name, log->index, attempt - 1);
    pod = store_find(q->server->store, STORE_PUBLISHED, &pod_kind, log->job->meta->namespace, name);
    return pod != NULL && meta_is_controlled_by(pod->meta, log->job) ? pod : NULL;
}

/* The next attempt may exist before the record has the end of the last one. */
static const struct object *
find_last(struct request *q, const struct task_log *log)
{
    struct element_chunk chunk;
    const struct element_tries *tries;
    const struct object *pod;
    int64_t before;

    element_record_read(q->server->store, log->job->meta->uid, log->index / ELEMENTS_A_CHUNK,
                        &chunk);
    tries = element_chunk_tries(&chunk, log->index);
    before = tries != NULL ? tries->attempt : 0;
    element_chunk_fini(&chunk);
    pod = find_attempt(q, log, before + 2);
    return pod != NULL ? pod : find_attempt(q, log, before + 1);
}

const char *
task_log_find_pod(struct request *q, struct task_log *log)
{
    const struct object *pod =
        log->attempt > 0 ? find_attempt(q, log, log->attempt) : find_last(q, log);

    /* Set the number: history may have no row of the present attempt yet, so
     * "the one before the last row" could be wrong.
     */
    if (pod != NULL && log->is_previous && attempt_of(pod) > 1) {
        log->attempt = attempt_of(pod) - 1;
        log->is_previous = false;
        pod = find_attempt(q, log, log->attempt);
    } else if (log->is_previous)
        pod = NULL;
    return pod != NULL ? pod->meta->name : NULL;
}

/* ---- History ---- */

/* All rights are given: the right to the Job's log includes these rows. */
void
task_log_ask(const struct task_log *log, struct history_question *question)
{
    *question = (struct history_question){
        .rights.is_all = true,
        .job_id = job_of(log->job)->status.id,
        .has_index = true,
        .index = log->index,
        .last_index = log->index,
        .limit = ATTEMPTS_MOST,
    };
}

/* A job number may be issued again after a restore: the uid identifies the Job.
 */
static bool
is_of(const struct json *row, const struct task_log *log)
{
    const char *uid = json_get_text(row, "jobUid");

    return uid != NULL && strcmp(uid, log->job_uid) == 0
           && json_get_int(row, "index", -1) == log->index && json_get_text(row, "podUid") != NULL
           && json_get_text(row, "node") != NULL;
}

static const struct json *
choose_row(const struct json *rows, const struct task_log *log)
{
    const struct json *last = NULL, *before = NULL;

    for (uint32_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        int64_t attempt = json_get_int(row, "attempt", 0);

        if (!is_of(row, log) || (log->attempt > 0 && attempt != log->attempt))
            continue;
        if (last == NULL || attempt >= json_get_int(last, "attempt", 0)) {
            before = last;
            last = row;
        } else if (before == NULL || attempt > json_get_int(before, "attempt", 0))
            before = row;
    }
    return log->is_previous ? before : last;
}

bool
task_log_take(struct request *q, const struct task_log *log, const struct json *answer,
              struct json *words, const char **ret_node)
{
    const struct json *row = choose_row(json_get(answer, "items"), log);

    if (row == NULL) {
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 404,
                                  .reason = "NotFound",
                                  .message = arena_printf(
                                      q->arena,
                                      log->is_previous   ? "task %" PRId64 " has no attempt before"
                                      : log->attempt > 0 ? "task %" PRId64 " has no such attempt"
                                                         : "task %" PRId64 " has no known "
                                                           "output: it has not been started, or "
                                                           "has just ended",
                                      log->task),
                              });
        return false;
    }
    *ret_node = json_get_text(row, "node");
    json_set_string(q->arena, words, "type", "log");
    json_set_bool(q->arena, words, "gone", true);
    json_set_string(q->arena, words, "uid", json_get_text(row, "podUid"));
    if (json_get_text(row, "user") != NULL) /* the agent counts the readers of each user */
        json_set_string(q->arena, words, "user", json_get_text(row, "user"));
    json_set_string(q->arena, words, "namespace", q->route.namespace);
    json_set_string(q->arena, words, "pod", "."); /* of no pod */
    log_options_choose_stream(q, words);
    return true;
}
