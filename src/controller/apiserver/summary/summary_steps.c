/* SPDX-License-Identifier: Apache-2.0 */
/* summary_steps.c - /kiln/v1/steps, the steps of a job that runs or has ended
 *
 * Only its owner and administrators see them: a step has its command. doc/api.md describes
 * the question and the answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/history_rights.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/history/history.h"
#include "controller/history/history_question.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

#define LIMIT_DEFAULT 1000
#define LIMIT_MOST    5000
#define JOBS_MOST     200

/* A question and its request; in the request's arena. */
struct step_inquiry {
    struct request *q;
    struct history_question question;
};

static bool
refuse(struct request *q, const struct parameter *p)
{
    reply_bad_request(&q->reply, "%s: '%.64s' cannot be read (doc/api.md)", p->name, p->value);
    return false;
}

static bool
take_number(struct request *q, const struct parameter *p, int64_t *into)
{
    int used = 0;

    if (strlen(p->value) > 18 || sscanf(p->value, "%" SCNd64 "%n", into, &used) != 1
        || p->value[used] != '\0' || *into < 0)
        return refuse(q, p);
    return true;
}

/* "17", "17,18,19" */
static bool
take_jobs(struct step_inquiry *i, const struct parameter *p)
{
    struct history_question *question = &i->question;
    const char *rest = p->value;
    int64_t *jobs;

    question->jobs = NULL; /* the last list counts */
    question->n_jobs = 0;
    if (strchr(rest, ',') == NULL)
        return take_number(i->q, p, &question->job_id);
    jobs = arena_new_array(i->q->arena, int64_t, JOBS_MOST);
    for (char *end;; rest = end + 1) {
        const int64_t id = *rest >= '0' && *rest <= '9' ? strtoll(rest, &end, 10) : 0;

        if (id <= 0 || (*end != ',' && *end != '\0'))
            return refuse(i->q, p);
        if (question->n_jobs == JOBS_MOST) {
            reply_bad_request(&i->q->reply, "job: at most %d jobs", JOBS_MOST);
            return false;
        }
        jobs[question->n_jobs++] = id;
        if (*end == '\0')
            break;
    }
    question->jobs = jobs;
    question->job_id = jobs[0];
    return true;
}

/* "INDEX.ATTEMPT.STEP" from the previous answer; of several jobs "JOB.INDEX.ATTEMPT.STEP". */
static bool
take_continue(struct request *q, const struct parameter *p, struct history_step_place *into)
{
    int used = 0;

    if (strlen(p->value) <= 80
        && sscanf(p->value, "%" SCNd64 ".%" SCNd64 ".%" SCNd64 ".%" SCNd64 "%n", &into->job,
                  &into->index, &into->attempt, &into->id, &used)
               == 4
        && p->value[used] == '\0' && into->job > 0)
        return true;
    into->job = 0;
    if (strlen(p->value) > 60
        || sscanf(p->value, "%" SCNd64 ".%" SCNd64 ".%" SCNd64 "%n", &into->index, &into->attempt,
                  &into->id, &used)
               != 3
        || p->value[used] != '\0')
        return refuse(q, p);
    return true;
}

static bool
take(struct step_inquiry *i, const struct parameter *p)
{
    struct history_question *question = &i->question;

    if (strcmp(p->name, "job") == 0)
        return take_jobs(i, p);
    if (strcmp(p->name, "attempt") == 0)
        return take_number(i->q, p, &question->attempt);
    if (strcmp(p->name, "limit") == 0)
        return take_number(i->q, p, &question->limit);
    if (strcmp(p->name, "continue") == 0)
        return take_continue(i->q, p, &question->after_step);
    if (strcmp(p->name, "index") == 0) {
        question->has_index = true;
        return take_number(i->q, p, &question->index);
    }
    if (strcmp(p->name, "running") == 0) {
        question->is_running = strcmp(p->value, "true") == 0;
        return question->is_running || strcmp(p->value, "false") == 0 || refuse(i->q, p);
    }
    reply_bad_request(&i->q->reply, "'%.64s' is not a parameter of steps (doc/api.md)", p->name);
    return false;
}

static bool
read_question(struct step_inquiry *i, const struct parameter *parameters, size_t count)
{
    struct history_question *question = &i->question;

    for (size_t k = 0; k < count; k++)
        if (!take(i, &parameters[k]))
            return false;
    if (question->job_id == 0) {
        reply_bad_request(&i->q->reply, "job: give the id of the job whose steps are asked for");
        return false;
    }
    if (question->limit == 0)
        question->limit = LIMIT_DEFAULT;
    if (question->limit > LIMIT_MOST)
        question->limit = LIMIT_MOST;
    return true;
}

static void
answered(const char *text, size_t length, const struct error *err, void *context)
{
    struct request *q = ((struct step_inquiry *)context)->q;

    if (err != NULL)
        reply_errno(&q->reply, err->code, err);
    else {
        text = account_names_in_text(q->server->store, text, &length, q->arena);
        reply_text(&q->reply, 200, "application/json", text, length);
    }
    request_finish(q);
}

void
summary_steps(struct request *q, const struct parameter *parameters, size_t count)
{
    struct step_inquiry *i = arena_alloc(q->arena, sizeof(*i));
    struct error err = {0};
    int r;

    *i = (struct step_inquiry){
        .q = q,
        .question = {.by = HISTORY_STEPS, .after_step = {.index = -2}},
    };
    if (!summary_check(q) || !read_question(i, parameters, count)) {
        request_finish(q);
        return;
    }
    history_rights_find(q->server, q->principal, "", q->arena, &i->question.rights);
    r = history_ask(q->server->history, &i->question, answered, i, &err);
    if (r == 0)
        return;
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = r == -EAGAIN ? 429 : 503,
                              .reason = r == -EAGAIN ? "TooManyRequests" : "ServiceUnavailable",
                              .message = arena_strdup(q->arena, err.text),
                              .retry_after_s = 1,
                          });
    request_finish(q);
}
