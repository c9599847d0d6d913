/* SPDX-License-Identifier: Apache-2.0 */
/* summary_history.c - /kiln/v1/history, rows of jobs that ended, and
 * /kiln/v1/history/report, their sums by day
 *
 * Users see their own rows whole. They also see the rows of the accounts that
 * they are members of, without what only the owner may see, as for jobs.
 * Administrators see all rows. doc/api.md describes the questions and the
 * answers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/history_rights.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/history/history.h"
#include "controller/history/history_question.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define LIMIT_DEFAULT 1000
#define LIMIT_MOST    5000
#define TEXT_MOST     256 /* bytes of a word or a pattern */
#define NODES_MOST    4096

/* A question and its request; in the request's arena. */
struct history_inquiry {
    struct request *q;
    struct history_question question;
};

/* ---- The question ---- */

static bool
refuse(struct request *q, const char *name, const char *value)
{
    reply_bad_request(&q->reply, "%s: '%.64s' cannot be read (doc/api.md)", name, value);
    return false;
}

static bool
take_text(struct history_inquiry *i, const struct parameter *p, const char **into)
{
    if (p->value[0] == '\0')
        return true;
    if (strlen(p->value) > TEXT_MOST)
        return refuse(i->q, p->name, p->value);
    *into = p->value;
    return true;
}

/* "n[1-4],gpu1" */
static bool
take_nodes(struct history_inquiry *i, const struct parameter *p)
{
    struct error err = {0};
    const char **names;
    size_t count;

    if (p->value[0] == '\0')
        return true;
    if (hostlist_expand_few(i->q->arena, p->value, NODES_MOST, &names, &count, &err) < 0)
        reply_bad_request(&i->q->reply, "%s: %s", p->name, err.text);
    else
        i->question.node = p->value;
    return i->question.node != NULL;
}

static bool
take_number(struct history_inquiry *i, const struct parameter *p, int64_t *into)
{
    int used = 0;

    if (strlen(p->value) > 18 || sscanf(p->value, "%" SCNd64 "%n", into, &used) != 1
        || p->value[used] != '\0' || *into < 0)
        return refuse(i->q, p->name, p->value);
    return true;
}

static bool
take_time(struct history_inquiry *i, const struct parameter *p, int64_t *into)
{
    int64_t us;

    if (time_parse(p->value, &us) < 0)
        return refuse(i->q, p->name, p->value);
    *into = us / 1000000;
    return true;
}

static bool
take_states(struct history_inquiry *i, const struct parameter *p)
{
    const char *at = p->value;

    while (*at != '\0') {
        const size_t length = strcspn(at, ",");
        const uint32_t states = job_states_of_word(arena_strndup(i->q->arena, at, length));

        if (states == 0)
            return refuse(i->q, p->name, p->value);
        i->question.states |= states;
        at += length + (at[length] == ',');
    }
    return true;
}

/* Parses "END.ID" from the previous answer. */
static bool
take_continue(struct history_inquiry *i, const struct parameter *p)
{
    int used = 0;

    if (strlen(p->value) > 40
        || sscanf(p->value, "%" SCNd64 ".%" SCNd64 "%n", &i->question.after_end_s,
                  &i->question.after_id, &used)
               != 2
        || p->value[used] != '\0')
        return refuse(i->q, p->name, p->value);
    return true;
}

static bool
take_sum(struct history_inquiry *i, const struct parameter *p)
{
    static const struct {
        const char *word;
        enum history_sum sum;
    } sums[] = {
        {"all", HISTORY_BY_ALL},
        {"account", HISTORY_BY_ACCOUNT},
        {"account,user", HISTORY_BY_ACCOUNT_USER},
        {"day", HISTORY_BY_DAY},
        {"month", HISTORY_BY_MONTH},
        {"partition", HISTORY_BY_PARTITION},
        {"user", HISTORY_BY_USER},
    };

    for (size_t k = 0; k < ARRAY_SIZE(sums); k++)
        if (strcmp(sums[k].word, p->value) == 0) {
            i->question.by = sums[k].sum;
            return true;
        }
    reply_bad_request(&i->q->reply,
                      "by: '%.64s' is not one of all, account, account,user, "
                      "day, month, partition and user",
                      p->value);
    return false;
}

/* Parses "job,state": the members that the rows should have. */
static bool
take_fields(struct history_inquiry *i, const struct parameter *p)
{
    const char *at = p->value;

    while (*at != '\0') {
        const size_t length = strcspn(at, ",");
        const char *name = arena_strndup(i->q->arena, at, length);
        const struct field *field = record_find(&history_row_record, name);

        if (field == NULL)
            return refuse(i->q, p->name, name);
        i->question.members |= UINT64_C(1) << (field - history_row_record.fields);
        at += length + (at[length] == ',');
    }
    return true;
}

/* Parses "7", "3-9" or "1-100:2". */
static bool
take_tasks(struct history_inquiry *i, const struct parameter *p)
{
    struct task_list *tasks = arena_alloc(i->q->arena, sizeof(*tasks));
    struct error err = {0};

    if (task_list_parse(i->q->arena, p->value, tasks, &err) < 0 || tasks->total == 0)
        return refuse(i->q, p->name, p->value);
    i->question.tasks = tasks;
    return true;
}

static bool
take(struct history_inquiry *i, const struct parameter *p, bool is_report)
{
    struct history_question *question = &i->question;

    if (strcmp(p->name, "user") == 0)
        return take_text(i, p, &question->user);
    if (strcmp(p->name, "account") == 0 && take_text(i, p, &question->account)) {
        question->account = account_names_resolve(i->q, question->account);
        return true;
    }
    if (strcmp(p->name, "partition") == 0)
        return take_text(i, p, &question->partition);
    if (strcmp(p->name, "since") == 0)
        return take_time(i, p, &question->since_s);
    if (strcmp(p->name, "until") == 0)
        return take_time(i, p, &question->until_s);
    if (is_report && strcmp(p->name, "by") == 0)
        return take_sum(i, p);
    if (!is_report) {
        if (strcmp(p->name, "nodes") == 0) {
            question->with_members = strcmp(p->value, "true") == 0;
            return question->with_members || strcmp(p->value, "false") == 0
                   || refuse(i->q, p->name, p->value);
        }
        if (strcmp(p->name, "node") == 0)
            return take_nodes(i, p);
        if (strcmp(p->name, "name") == 0)
            return take_text(i, p, &question->name);
        if (strcmp(p->name, "state") == 0)
            return take_states(i, p);
        if (strcmp(p->name, "job") == 0)
            return take_number(i, p, &question->job_id);
        if (strcmp(p->name, "fields") == 0)
            return take_fields(i, p);
        if (strcmp(p->name, "limit") == 0)
            return take_number(i, p, &question->limit);
        if (strcmp(p->name, "continue") == 0)
            return take_continue(i, p);
        if (strcmp(p->name, "index") == 0) {
            question->has_index = true;
            return take_number(i, p, &question->index);
        }
        if (strcmp(p->name, "task") == 0)
            return take_tasks(i, p);
        if (strcmp(p->name, "uid") == 0) {
            question->has_uid = true;
            return take_number(i, p, &question->uid);
        }
    }
    reply_bad_request(&i->q->reply, "'%.64s' is not a parameter of history (doc/api.md)", p->name);
    return false;
}

static bool
read_question(struct history_inquiry *i, const struct parameter *parameters, size_t count,
              bool is_report)
{
    struct history_question *question = &i->question;

    if (is_report)
        question->by = HISTORY_BY_ACCOUNT;
    for (size_t k = 0; k < count; k++)
        if (!take(i, &parameters[k], is_report))
            return false;
    if (question->limit == 0)
        question->limit = LIMIT_DEFAULT;
    if (question->limit > LIMIT_MOST)
        question->limit = LIMIT_MOST;
    return true;
}

/* ---- Who asks ---- */

static void
find_rights(struct history_inquiry *i)
{
    const struct history_question *question = &i->question;
    const struct principal *p = i->q->principal;
    const bool is_own =
        question->account == NULL && question->user != NULL && strcmp(question->user, p->name) == 0;

    history_rights_find(i->q->server, p, is_own ? "" : question->account, i->q->arena,
                        &i->question.rights);
}

/* For the user's own rows and sums asks by uid, so that rows under an earlier
 * name are found, too.
 */
static void
ask_by_number(struct history_inquiry *i)
{
    struct history_question *question = &i->question;
    const struct principal *p = i->q->principal;

    if (question->user == NULL || strcmp(question->user, p->name) != 0)
        return;
    if (question->by == HISTORY_BY_NOTHING)
        question->user = NULL;
    question->has_uid = true;
    question->uid = p->uid;
}

/* ---- The answer ---- */

static void
answer_text(struct request *q, const char *text, size_t length)
{
    const char *shown = account_names_in_text(q->server->store, text, &length, q->arena);

    reply_text(&q->reply, 200, "application/json", shown, length);
}

static void
answered(const char *text, size_t length, const struct error *err, void *context)
{
    struct request *q = ((struct history_inquiry *)context)->q;

    if (err != NULL)
        reply_errno(&q->reply, err->code, err);
    else
        answer_text(q, text, length);
    request_finish(q);
}

static void
fail(struct request *q, int r, const struct error *err)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = r == -EAGAIN ? 429 : 503,
                              .reason = r == -EAGAIN ? "TooManyRequests" : "ServiceUnavailable",
                              .message = arena_strdup(q->arena, err->text),
                              .retry_after_s = 1,
                          });
    request_finish(q);
}

bool
summary_history_is_asked(const char *path)
{
    return strcmp(path, "/kiln/v1/history") == 0 || strcmp(path, "/kiln/v1/history/report") == 0
           || strcmp(path, "/kiln/v1/steps") == 0;
}

void
summary_history(struct request *q, const char *path, const struct parameter *parameters,
                size_t count)
{
    const bool is_report = strcmp(path, "/kiln/v1/history") != 0;
    struct history_inquiry *i = arena_alloc(q->arena, sizeof(*i));
    struct error err = {0};
    int r;

    if (strcmp(path, "/kiln/v1/steps") == 0) {
        summary_steps(q, parameters, count);
        return;
    }
    *i = (struct history_inquiry){.q = q};
    if (!summary_check(q) || !read_question(i, parameters, count, is_report)) {
        request_finish(q);
        return;
    }
    find_rights(i);
    ask_by_number(i);
    r = history_ask(q->server->history, &i->question, answered, i, &err);
    if (r < 0)
        fail(q, r, &err);
}
