/* SPDX-License-Identifier: Apache-2.0 */
/* history_step_page.c - the steps of jobs as JSON, by job, index, attempt and id */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/history/history_reader_state.h"
#include "controller/history/history_steps.h"
#include "controller/store/engine/sql.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

/* In the order of the index. */
#define ROWS                                                                           \
    "SELECT idx, attempt, step, record, pod, observed, is_over FROM steps"             \
    " WHERE job = ?1 AND (idx, attempt, step) > (?2, ?3, ?4) AND (?5 < 0 OR uid = ?5)" \
    " AND (?6 < 0 OR idx = ?6) AND (?7 = 0 OR attempt = ?7) AND (?8 = 0 OR is_over = 0) ORDER BY idx, attempt, step"
#define OF_ATTEMPT \
    "SELECT end_at, (SELECT word FROM words WHERE id = state) FROM attempts WHERE key = ?1"
#define RUNNING   "\"state\":\"Running\""
#define LATE_S    600 /* after the end of an attempt, for the last report of its agent */
#define SECOND_US INT64_C(1000000)
#define OF_POD    "SELECT record FROM steps WHERE pod = ?1 AND step = -1"

struct step_page {
    const struct history_question *question;
    sqlite3_stmt *rows, *of_pod, *of_attempt;
    struct strbuf owner;   /* the members of the pod's record, without braces */
    struct strbuf omitted; /* elements of metadata.omitted */
    int64_t idx, attempt;  /* of the owner */
    bool has_owner;
    int64_t shown;
};

/* The members of an object: its text without the braces. */
static void
set_members(struct strbuf *out, const char *object)
{
    const size_t length = object != NULL ? strlen(object) : 0;

    strbuf_truncate(out, 0);
    if (length > 2)
        strbuf_add(out, object + 1, length - 2);
}

static void
take_owner(struct step_page *p, const char *record, int64_t idx, int64_t attempt)
{
    set_members(&p->owner, record);
    p->idx = idx;
    p->attempt = attempt;
    p->has_owner = true;
}

/* A page may begin behind the row of the pod. */
static void
find_owner(struct step_page *p, int64_t idx, int64_t attempt)
{
    if (p->has_owner && p->idx == idx && p->attempt == attempt)
        return;
    (void)sqlite3_bind_value(p->of_pod, 1, sqlite3_column_value(p->rows, 4));
    take_owner(p,
               sqlite3_step(p->of_pod) == SQLITE_ROW
                   ? (const char *)sqlite3_column_text(p->of_pod, 0)
                   : NULL,
               idx, attempt);
    (void)sqlite3_reset(p->of_pod);
}

static void
note_omitted(struct step_page *p, int64_t omitted)
{
    if (omitted > 0)
        strbuf_printf(&p->omitted, "%s{%s%s\"steps\":%" PRId64 "}",
                      p->omitted.length > 0 ? "," : "", p->owner.text,
                      p->owner.length > 0 ? "," : "", omitted);
}

/* When the attempt of a step that is said to run has ended with its node, or so long ago
 * that its agent will not report any more; 0: neither.
 */
static int64_t
find_lost(const struct step_page *p)
{
    const char *state;
    int64_t end_s = 0;

    if (sqlite3_column_int64(p->rows, 6) != 0)
        return 0;
    (void)sqlite3_bind_value(p->of_attempt, 1, sqlite3_column_value(p->rows, 4));
    if (sqlite3_step(p->of_attempt) == SQLITE_ROW) {
        end_s = sqlite3_column_int64(p->of_attempt, 0);
        state = (const char *)sqlite3_column_text(p->of_attempt, 1);
        if ((state == NULL || strcmp(state, "NodeFailed") != 0)
            && clock_real_us(&clock_system) / SECOND_US - end_s < LATE_S)
            end_s = 0;
    }
    (void)sqlite3_reset(p->of_attempt);
    return end_s;
}

/* In a string of the text, the quotes of this would be escaped. */
static void
print_step(const char *record, int64_t lost_s, struct strbuf *out)
{
    const char *state = lost_s > 0 ? strstr(record, RUNNING) : NULL;
    char end[TIME_TEXT_SIZE];

    if (state == NULL) {
        strbuf_add_text(out, record);
        return;
    }
    time_format(lost_s * SECOND_US, false, end);
    strbuf_printf(out, "%.*s\"endTime\":\"%s\",\"state\":\"NodeFailed\"%s", (int)(state - record),
                  record, end, state + strlen(RUNNING));
}

static void
print_row(struct step_page *p, struct strbuf *out)
{
    const int64_t idx = sqlite3_column_int64(p->rows, 0);
    const int64_t attempt = sqlite3_column_int64(p->rows, 1);
    const char *record = (const char *)sqlite3_column_text(p->rows, 3);
    int64_t lost_s;

    if (sqlite3_column_int64(p->rows, 2) == HISTORY_STEP_OF_POD) {
        take_owner(p, record, idx, attempt);
        note_omitted(p, sqlite3_column_int64(p->rows, 5));
        return;
    }
    lost_s = find_lost(p);
    if (lost_s > 0 && p->question->is_running)
        return;
    find_owner(p, idx, attempt);
    strbuf_printf(out, "%s{%s%s", p->shown++ > 0 ? "," : "", p->owner.text,
                  p->owner.length > 0 ? "," : "");
    print_step(record + 1, lost_s, out);
}

static void
bind(const struct step_page *p, int64_t job, const struct history_step_place *after)
{
    const struct history_question *q = p->question;

    (void)sqlite3_bind_int64(p->rows, 1, job);
    (void)sqlite3_bind_int64(p->rows, 2, after->index);
    (void)sqlite3_bind_int64(p->rows, 3, after->attempt);
    (void)sqlite3_bind_int64(p->rows, 4, after->id);
    (void)sqlite3_bind_int64(p->rows, 5, q->rights.is_all ? -1 : q->rights.uid);
    (void)sqlite3_bind_int64(p->rows, 6, q->has_index ? q->index : -1);
    (void)sqlite3_bind_int64(p->rows, 7, q->attempt);
    (void)sqlite3_bind_int64(p->rows, 8, q->is_running);
}

/* Returns SQLITE_ROW if the page is full. */
static int
print_job(struct step_page *p, int64_t job, struct history_step_place *last, struct strbuf *out)
{
    int step;

    p->has_owner = false;
    (void)sqlite3_reset(p->rows);
    bind(p, job, last);
    while ((step = sqlite3_step(p->rows)) == SQLITE_ROW && p->shown < p->question->limit) {
        print_row(p, out);
        last->index = sqlite3_column_int64(p->rows, 0);
        last->attempt = sqlite3_column_int64(p->rows, 1);
        last->id = sqlite3_column_int64(p->rows, 2);
    }
    return step;
}

/* Whether the list has the job before, too. */
static bool
is_repeated(const struct history_question *q, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (q->jobs[i] == q->jobs[at])
            return true;
    return false;
}

/* Of several jobs, those behind the place; the one of the place is begun there. A place names
 * its job, so a job that is asked for twice is printed once: its pages would have no end.
 */
static int
print_jobs(struct step_page *p, struct history_step_place *last, struct strbuf *out)
{
    const struct history_question *q = p->question;
    const struct history_step_place first = {.index = -2};
    bool is_behind = last->job == 0;
    int step = SQLITE_DONE;

    if (q->jobs == NULL)
        return print_job(p, q->job_id, last, out);
    for (size_t i = 0; i < q->n_jobs && step == SQLITE_DONE; i++) {
        if ((!is_behind && q->jobs[i] != last->job) || is_repeated(q, i))
            continue;
        if (is_behind)
            *last = first;
        is_behind = true;
        last->job = q->jobs[i];
        step = print_job(p, q->jobs[i], last, out);
    }
    return step;
}

static int
print_rows(struct history_reader *r, struct step_page *p, struct strbuf *out, struct error *err)
{
    struct history_step_place last = p->question->after_step;
    const int step = print_jobs(p, &last, out);

    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return sql_error(r->db, err);
    strbuf_add_char(out, ']');
    if (step == SQLITE_ROW || p->omitted.length > 0) {
        strbuf_add_text(out, ",\"metadata\":{");
        if (step == SQLITE_ROW) {
            strbuf_add_text(out, "\"continue\":\"");
            if (last.job != 0)
                strbuf_printf(out, "%" PRId64 ".", last.job);
            strbuf_printf(out, "%" PRId64 ".%" PRId64 ".%" PRId64 "\"", last.index, last.attempt,
                          last.id);
        }
        if (p->omitted.length > 0)
            strbuf_printf(out, "%s\"omitted\":[%s]", step == SQLITE_ROW ? "," : "",
                          p->omitted.text);
        strbuf_add_char(out, '}');
    }
    strbuf_add_char(out, '}');
    return 0;
}

int
history_step_page_print(struct history_reader *r, const struct history_question *q,
                        struct strbuf *out, struct error *err)
{
    struct step_page p = {.question = q};
    int result;

    strbuf_init(&p.owner);
    strbuf_init(&p.omitted);
    strbuf_add_text(out, "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":\"StepList\",\"items\":[");
    result = history_reader_prepare(r, ROWS, &p.rows, err);
    if (result == 0)
        result = history_reader_prepare(r, OF_POD, &p.of_pod, err);
    if (result == 0)
        result = history_reader_prepare(r, OF_ATTEMPT, &p.of_attempt, err);
    if (result == 0)
        result = print_rows(r, &p, out, err);
    history_reader_release(r, p.rows);
    history_reader_release(r, p.of_pod);
    history_reader_release(r, p.of_attempt);
    strbuf_fini(&p.owner);
    strbuf_fini(&p.omitted);
    return result;
}
