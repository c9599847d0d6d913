/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/history/history_fields.h"
#include "controller/store/engine/sql.h"
#include "lib/api/cluster/step_record.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)
#define UID_SIZE  37

#define COUNT_EVERY 60

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
                       .id = HISTORY_STEP_OF_POD,
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
