/* SPDX-License-Identifier: Apache-2.0 */
/* Steps begin and end in thousands within a job, and agents report them late, twice, or while the
 * job still runs. So a step is not a row of attempts: its record stays JSON, as the agent sent
 * it, beside the few columns by which it is found, replaced and dropped. A new member of a
 * record needs no schema, and is kept by controllers that do not know it.
 */
#include "controller/history/history_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/history/history_connection.h"
#include "controller/history/history_fields.h"
#include "controller/history/history_question.h"
#include "controller/store/engine/sql.h"
#include "lib/api/cluster/step_record.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)
#define UID_SIZE  37

#define COUNT_EVERY 60
#define OF_POD_ID   (-1) /* of the row that says whose the pod is */

struct history_steps {
    sqlite3 *db;
    sqlite3_stmt *put, *find_owner, *drop;
    unsigned calls; /* of drop, since there were too many */
};

void
history_steps_free(struct history_steps *h)
{
    if (h == NULL)
        return;
    (void)sqlite3_finalize(h->put);
    (void)sqlite3_finalize(h->find_owner);
    (void)sqlite3_finalize(h->drop);
    free(h);
}

int
history_steps_new(sqlite3 *db, struct history_steps **ret_steps, struct error *err)
{
    struct history_steps *h = xnew(struct history_steps);
    int r;

    h->db = db;
    r = sql_prepare(db,
                    "INSERT INTO steps (pod, step, job, idx, attempt, uid, at, is_over, observed,"
                    " record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
                    " ON CONFLICT (pod, step) DO UPDATE SET at = ?7, is_over = ?8, observed = ?9,"
                    " record = ?10 WHERE ?8 > is_over OR (?8 = is_over AND ?9 > observed)"
                    /* the row of the pod is as young as its youngest step */
                    " OR (step = -1 AND ?9 = observed AND ?7 > at)",
                    &h->put, err);
    if (r == 0)
        r = sql_prepare(db,
                        "SELECT job, job_uid, idx, task, attempt, uid,"
                        " (SELECT word FROM words WHERE id = user),"
                        " (SELECT word FROM words WHERE id = account),"
                        " (SELECT word FROM words WHERE id = node)"
                        " FROM attempts WHERE key = ?1",
                        &h->find_owner, err);
    if (r == 0)
        r = sql_prepare(db,
                        "DELETE FROM steps WHERE (pod, step) IN (SELECT pod, step FROM steps"
                        " WHERE at < ?1 ORDER BY at LIMIT ?2)",
                        &h->drop, err);
    if (r < 0) {
        history_steps_free(h);
        return r;
    }
    *ret_steps = h;
    return 0;
}

/* ---- The owner of a pod that is gone ---- */

static const char *
copy_text(sqlite3_stmt *s, int at, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(s, at);

    return text != NULL ? arena_strdup(arena, text) : "";
}

static const int64_t *
copy_number(sqlite3_stmt *s, int at, struct arena *arena)
{
    const int64_t n = sqlite3_column_int64(s, at);

    return sqlite3_column_type(s, at) != SQLITE_NULL ? arena_memdup(arena, &n, sizeof(n)) : NULL;
}

static const char *
copy_uid(sqlite3_stmt *s, int at, struct arena *arena)
{
    const unsigned char *bytes = sqlite3_column_blob(s, at);
    char *text, *to;

    if (sqlite3_column_type(s, at) != SQLITE_BLOB
        || sqlite3_column_bytes(s, at) != HISTORY_UID_BYTES)
        return copy_text(s, at, arena);
    text = to = arena_alloc(arena, UID_SIZE);
    for (int i = 0; i < HISTORY_UID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        to += snprintf(to, 3, "%02x", bytes[i]);
    }
    return text;
}

static int
find_owner(struct history_steps *h, struct arena *arena, struct step_batch *batch,
           struct error *err)
{
    sqlite3_stmt *s = h->find_owner;
    int r = -ENOENT;

    history_fields_bind_uid(s, 1, batch->pod_uid);
    if (sqlite3_step(s) == SQLITE_ROW && batch->node != NULL
        && strcmp(copy_text(s, 8, arena), batch->node) == 0) {
        batch->job_id = sqlite3_column_int64(s, 0);
        batch->job_uid = copy_uid(s, 1, arena);
        batch->index = copy_number(s, 2, arena);
        batch->task = copy_number(s, 3, arena);
        batch->attempt = sqlite3_column_int64(s, 4);
        batch->uid = sqlite3_column_int64(s, 5);
        batch->user = copy_text(s, 6, arena);
        batch->account = copy_text(s, 7, arena);
        r = 0;
    }
    (void)sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return r == 0 ? 0
                  : error_set(err, r, "no pod with the uid '%s' was on the node", batch->pod_uid);
}

/* ---- Rows ---- */

struct step_row {
    int64_t id;
    int64_t at_us, observed;
    bool is_over;
    const struct json *record;
};

static int
put_row(struct history_steps *h, const struct step_batch *batch, const struct step_row *row,
        struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r;

    json_print(row->record, &text);
    history_fields_bind_uid(h->put, 1, batch->pod_uid);
    (void)sqlite3_bind_int64(h->put, 2, row->id);
    (void)sqlite3_bind_int64(h->put, 3, batch->job_id);
    (void)sqlite3_bind_int64(h->put, 4, batch->index != NULL ? *batch->index : -1);
    (void)sqlite3_bind_int64(h->put, 5, batch->attempt);
    (void)sqlite3_bind_int64(h->put, 6, batch->uid);
    (void)sqlite3_bind_int64(h->put, 7, row->at_us / SECOND_US);
    (void)sqlite3_bind_int64(h->put, 8, row->is_over);
    (void)sqlite3_bind_int64(h->put, 9, row->observed);
    (void)sqlite3_bind_text(h->put, 10, text.text, -1, SQLITE_STATIC);
    r = sql_run(h->put, err);
    (void)sqlite3_clear_bindings(h->put);
    return r < 0 ? r : sqlite3_changes(h->db) > 0;
}

static int
put_pod(struct history_steps *h, struct arena *arena, const struct step_batch *batch, int64_t at_us,
        struct error *err)
{
    struct step_batch owner = *batch;

    owner.node = NULL;
    owner.namespace = NULL;
    owner.is_of_row = false;
    owner.omitted = 0;
    owner.steps.count = 0;
    return put_row(h, batch,
                   &(struct step_row){
                       .id = OF_POD_ID,
                       .at_us = at_us,
                       .observed = batch->omitted,
                       .record = record_encode(&step_batch_record, arena, &owner),
                   },
                   err);
}

static int64_t
last_time(const struct step_batch *batch)
{
    int64_t at_us = 0;

    for (uint32_t i = 0; i < batch->steps.count; i++) {
        const struct step_record *s = &batch->steps.items[i];
        const int64_t t = s->end_at_us > s->observed_at_us ? s->end_at_us : s->observed_at_us;

        at_us = t > at_us ? t : at_us;
    }
    return at_us;
}

int
history_steps_add(struct history_steps *h, const struct step_batch *told, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_batch batch = *told;
    int changed, r = batch.is_of_row ? find_owner(h, arena, &batch, err) : 0;

    if (r == 0)
        r = put_pod(h, arena, &batch, last_time(&batch), err);
    changed = r;
    for (uint32_t i = 0; r >= 0 && i < batch.steps.count; i++) {
        const struct step_record *s = &batch.steps.items[i];

        r = put_row(h, &batch,
                    &(struct step_row){
                        .id = s->id,
                        .at_us = s->end_at_us > 0 ? s->end_at_us : s->observed_at_us,
                        .observed = s->observed_at_us,
                        .is_over = s->end_at_us > 0,
                        .record = record_encode(&step_record_record, arena, s),
                    },
                    err);
        changed |= r;
    }
    return r < 0 ? r : changed;
}

/* Counting takes half a second when there are as many as there may be. */
static bool
are_too_many(struct history_steps *h, int64_t rows_most)
{
    int64_t n = 0;

    if (h->calls++ % COUNT_EVERY != 0)
        return false;
    if (sql_number(h->db, "SELECT count(*) FROM steps", &n, NULL) < 0 || n <= rows_most)
        return false;
    h->calls = 0;
    return true;
}

int64_t
history_steps_drop(struct history_steps *h, int64_t before_s, int64_t rows_most, int64_t most,
                   struct error *err)
{
    int r;

    if (are_too_many(h, rows_most))
        before_s = INT64_MAX;
    if (before_s == 0)
        return 0;
    (void)sqlite3_bind_int64(h->drop, 1, before_s);
    (void)sqlite3_bind_int64(h->drop, 2, most);
    r = sql_run(h->drop, err);
    return r < 0 ? r : sqlite3_changes(h->db);
}

/* ---- Answers ---- */

#define ROWS                                                                           \
    "SELECT idx, attempt, step, record, pod, observed, is_over FROM steps"             \
    " WHERE job = ?1 AND (idx, attempt, step) > (?2, ?3, ?4) AND (?5 < 0 OR uid = ?5)" \
    " AND (?6 < 0 OR idx = ?6) AND (?7 = 0 OR attempt = ?7) AND (?8 = 0 OR is_over = 0) ORDER BY idx, attempt, step"
#define OF_ATTEMPT \
    "SELECT end_at, (SELECT word FROM words WHERE id = state) FROM attempts WHERE key = ?1"
#define RUNNING "\"state\":\"Running\""
#define LATE_S  600 /* after the end of an attempt, for the last report of its agent */
#define OF_POD  "SELECT record FROM steps WHERE pod = ?1 AND step = -1"

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
find_page_owner(struct step_page *p, int64_t idx, int64_t attempt)
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

    if (sqlite3_column_int64(p->rows, 2) == OF_POD_ID) {
        take_owner(p, record, idx, attempt);
        note_omitted(p, sqlite3_column_int64(p->rows, 5));
        return;
    }
    lost_s = find_lost(p);
    if (lost_s > 0 && p->question->is_running)
        return;
    find_page_owner(p, idx, attempt);
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
print_rows(struct history_connection *c, struct step_page *p, struct strbuf *out, struct error *err)
{
    struct history_step_place last = p->question->after_step;
    const int step = print_jobs(p, &last, out);

    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return sql_error(history_connection_db(c), err);
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
history_steps_print(struct history_connection *c, const struct history_question *q,
                    struct strbuf *out, struct error *err)
{
    struct step_page p = {.question = q};
    int result;

    strbuf_init(&p.owner);
    strbuf_init(&p.omitted);
    strbuf_add_text(out, "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":\"StepList\",\"items\":[");
    result = history_connection_prepare(c, ROWS, &p.rows, err);
    if (result == 0)
        result = history_connection_prepare(c, OF_POD, &p.of_pod, err);
    if (result == 0)
        result = history_connection_prepare(c, OF_ATTEMPT, &p.of_attempt, err);
    if (result == 0)
        result = print_rows(c, &p, out, err);
    history_connection_release(c, p.rows);
    history_connection_release(c, p.of_pod);
    history_connection_release(c, p.of_attempt);
    strbuf_fini(&p.owner);
    strbuf_fini(&p.omitted);
    return result;
}
