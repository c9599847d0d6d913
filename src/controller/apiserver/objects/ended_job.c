/* SPDX-License-Identifier: Apache-2.0 */
/* History is written by a thread, a moment after the transaction that ended a job. A question
 * in that moment would be answered "never existed", so it waits until the rows that were
 * waiting are on the disk, for some seconds at most.
 */
#include "controller/apiserver/objects/ended_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "controller/apiserver/objects/history_rights.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/history/history.h"
#include "controller/history/history_question.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define ROWS_MOST  5000 /* of one job in an answer of history */
#define LOOK_MS    50
#define LOOKS_MOST 100 /* until waiting rows are written: 5 s */

struct ended_job_inquiry {
    struct request *q;
    struct history_question question;
    const char *uid; /* or NULL */
    ended_job_fn *done;
    void *context;
    struct timer *timer;
    unsigned looks;
};

/* ---- The answer ---- */

static bool
is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Job numbers may be issued again after a restore: then the newest job that the
 * store knows is meant.
 */
static const char *
find_uid(const struct ended_job_inquiry *i, const struct json *rows)
{
    const char *uid = NULL;

    for (uint32_t at = 0; i->uid == NULL && at < json_count(rows); at++)
        if (!json_is_true(json_get(json_at(rows, at), "lost")))
            uid = json_get_text(json_at(rows, at), "jobUid");
    return i->uid != NULL ? i->uid : uid;
}

/* The last attempt of each index counts: rows are in the order of their ends.
 * Of several indexes, one that is not Completed decides.
 */
static enum job_state
judge(const struct map *states)
{
    enum job_state state = JOB_STATE_NONE;
    size_t at = 0;
    void *word;

    while (map_next(states, &at, NULL, &word)) {
        state = job_state_of_name(word);
        if (state != JOB_STATE_COMPLETED)
            return state;
    }
    return state;
}

/* As an RFC 3339 time in UTC, so that the order of texts is that of the times. */
static const char *
prefer(const char *known, const char *time, bool is_last)
{
    if (known == NULL || time == NULL)
        return known != NULL ? known : time;
    return (strcmp(time, known) > 0) == is_last ? time : known;
}

static bool
read_rows(struct ended_job_inquiry *i, const struct json *rows, struct ended_job *job)
{
    CLEANUP(map_freep) struct map *states = map_new(); /* by index */
    const char *ended = NULL;
    char index[DECIMAL_SIZE];

    *job = (struct ended_job){.uid = find_uid(i, rows)};
    for (uint32_t at = 0; job->uid != NULL && at < json_count(rows); at++) {
        const struct json *row = json_at(rows, at);
        const char *state = json_get_text(row, "state");

        if (!is_same(json_get_text(row, "jobUid"), job->uid) || state == NULL)
            continue;
        job->namespace = json_get_text(row, "account");
        job->name = json_get_text(row, "object");
        job->began = prefer(job->began, json_get_text(row, "startTime"), i->question.tasks != NULL);
        ended = prefer(ended, json_get_text(row, "endTime"), true);
        (void)map_put(states, decimal_of(json_get_int(row, "index", -1), index),
                      (char *)(uintptr_t)state);
    }
    if (job->began == NULL)
        job->began = ended;
    job->state = judge(states);
    return job->state != JOB_STATE_NONE && job->namespace != NULL && job->name != NULL;
}

static void
answered(const char *text, size_t length, const struct error *err, void *context)
{
    struct ended_job_inquiry *i = context;
    struct error failure = {0};
    struct ended_job job;
    struct json *answer;

    if (err != NULL) {
        i->done(i->q, NULL, err, i->context);
        return;
    }
    answer =
        json_parse(i->q->arena, arena_memdup(i->q->arena, text, length), length, NULL, &failure);
    if (answer != NULL && json_path_text(answer, "metadata.continue") != NULL) {
        answer = NULL;
        error_set(&failure, -E2BIG,
                  "history has more than %d rows of job %" PRId64 ", too many "
                  "to determine how the whole job ended",
                  ROWS_MOST, i->question.job_id);
    }
    if (answer == NULL)
        i->done(i->q, NULL, &failure, i->context);
    else
        i->done(i->q, read_rows(i, json_get(answer, "items"), &job) ? &job : NULL, NULL,
                i->context);
}

/* ---- The question ---- */

static void
ask(struct ended_job_inquiry *i)
{
    struct error err = {0};
    int r = history_ask(i->q->server->history, &i->question, answered, i, &err);

    if (r < 0)
        i->done(i->q, NULL, &err, i->context);
}

static void
ask_when_written(void *context)
{
    struct ended_job_inquiry *i = context;
    struct history_status status;

    history_status(i->q->server->history, &status);
    if (status.waiting > 0 && i->looks++ < LOOKS_MOST && !i->q->server->is_closing) {
        if (i->timer == NULL)
            i->timer = timer_new(i->q->server->loop, ask_when_written, i);
        timer_start(i->timer, LOOK_MS);
        return;
    }
    timer_free(i->timer);
    i->timer = NULL;
    ask(i);
}

void
ended_job_find(struct request *q, int64_t id, const char *uid, const struct task_list *tasks,
               bool waits, ended_job_fn *done, void *context)
{
    struct ended_job_inquiry *i = arena_alloc(q->arena, sizeof(*i));

    *i = (struct ended_job_inquiry){
        .q = q,
        .uid = uid,
        .question = {.job_id = id, .tasks = tasks, .limit = ROWS_MOST},
        .done = done,
        .context = context,
        .looks = waits ? 0 : LOOKS_MOST,
    };
    if (q->server->history == NULL || id <= 0) {
        done(q, NULL, NULL, context);
        return;
    }
    history_rights_find(q->server, q->principal, NULL, q->arena, &i->question.rights);
    ask_when_written(i);
}
