/* SPDX-License-Identifier: Apache-2.0 */
/* A record that was appended by a controller that lost the lead just then may
 * have a lower number than those that the next one has read already, so reading
 * begins some way back. Each record is applied once: history_applied.h.
 */
#include "controller/history/history_replica.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_applied.h"
#include "controller/history/history_file.h"
#include "controller/store/engine/record_log.h"
#include "lib/api/cluster/step_record.h"
#include "lib/api/job/history_row.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define COMMIT_EVERY 500

struct history_replica {
    struct record_log *log; /* or NULL */
    struct arena *arena;    /* texts of the records */
    struct log_record *records;
    size_t n_records;
    size_t capacity;
};

struct history_replica *
history_replica_new(const char *database)
{
    struct history_replica *replica = xnew(struct history_replica);

    if (database != NULL)
        replica->log = record_log_new(database);
    replica->arena = arena_new(0);
    return replica;
}

void
history_replica_free(struct history_replica *replica)
{
    if (replica == NULL)
        return;
    record_log_free(replica->log);
    arena_free(replica->arena);
    free(replica->records);
    free(replica);
}

bool
history_replica_read_row(struct arena *arena, const char *text, size_t length,
                         struct history_row *ret_row)
{
    struct json *tree = json_parse(arena, text, length, NULL, NULL);

    if (tree == NULL || record_normalize(&history_row_record, arena, tree, NULL, NULL) < 0)
        return false;
    *ret_row = (struct history_row){0};
    record_decode(&history_row_record, arena, tree, ret_row);
    return ret_row->object != NULL && ret_row->state != NULL;
}

/* A row has a podUid, too. */
bool
history_replica_read_steps(struct arena *arena, const char *text, size_t length,
                           struct step_batch *ret_batch)
{
    struct json *tree = json_parse(arena, text, length, NULL, NULL);

    if ((json_get(tree, "steps") == NULL && json_get(tree, "omitted") == NULL)
        || record_normalize(&step_batch_record, arena, tree, NULL, NULL) < 0)
        return false;
    *ret_batch = (struct step_batch){0};
    record_decode(&step_batch_record, arena, tree, ret_batch);
    return step_batch_check(ret_batch, NULL) == 0;
}

/* ---- Reading ---- */

struct catch_up {
    struct history_file *file;
    struct arena *arena;
    struct error *err;
    unsigned n; /* since the last commit */
    int64_t last;
    uint64_t rows;
};

static int
end_portion(struct catch_up *c)
{
    int r = history_applied_follow(history_file_applied(c->file), c->last, c->err);

    c->n = 0;
    return r == 0 ? history_file_commit(c->file, 0, c->err) : r;
}

/* 1: all of it is in the file now. 0: it cannot be, or not yet. */
static int
apply(struct catch_up *c, int64_t id, const char *text, size_t length)
{
    struct history_row row;
    struct step_batch batch;
    int r;

    /* A row has a podUid, too, so it could pass for steps. */
    if (history_replica_read_row(c->arena, text, length, &row)) {
        r = history_file_add(c->file, &row, c->err);
        c->rows += r > 0;
        if (r == -EPROTO)
            log_error("Record %lld of the shared history cannot be written, leaving it out: %s",
                      (long long)id, c->err->text);
    } else if (history_replica_read_steps(c->arena, text, length, &batch)) {
        r = history_file_add_steps(c->file, &batch, c->err);
    } else {
        log_error("Record %lld of the shared history cannot be read, leaving it out",
                  (long long)id);
        return 0;
    }
    if (r == -ENOENT || r == -EPROTO)
        return 0;
    return r < 0 ? r : 1;
}

static int
add_record(int64_t id, const char *key, const char *text, size_t length, void *context)
{
    struct catch_up *c = context;
    struct history_applied *applied = history_file_applied(c->file);
    const struct arena_mark mark = arena_mark(c->arena);
    int r = c->n == 0 ? history_file_begin(c->file, c->err) : 0;
    int known;

    if (r < 0)
        return r;
    known = history_applied_has(applied, id, key, c->err);
    r = known == 0 ? apply(c, id, text, length) : known;
    if (r > 0 && known == 0)
        r = history_applied_put(applied, id, key, c->err);
    arena_rewind(c->arena, &mark);
    c->last = id;
    if (r < 0) {
        history_file_rollback(c->file);
        c->n = 0;
        return r;
    }
    return ++c->n == COMMIT_EVERY ? end_portion(c) : 0;
}

int
history_replica_catch_up(struct history_replica *replica, struct history_file *file,
                         struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct catch_up c = {.file = file, .arena = arena, .err = err};
    int64_t last = 0, after = 0;
    int r;

    if (replica->log == NULL)
        return 0;
    r = record_log_last(replica->log, &last, err);
    if (r == 0)
        r = history_applied_meet(history_file_applied(file), last, &after, err);
    if (r == 0)
        r = record_log_read(replica->log, after, add_record, &c, err);
    if (c.n > 0) {
        int end = r == 0 ? end_portion(&c) : r;

        if (end < 0)
            history_file_rollback(file);
        r = end;
    }
    if (r == 0 && c.rows > 0)
        log_info("History has %llu rows more, which other controllers have written",
                 (unsigned long long)c.rows);
    return r;
}

/* ---- Writing ---- */

void
history_replica_keep(struct history_replica *replica, const struct history_row *row,
                     const char *text, const char *key)
{
    CLEANUP_STRBUF struct strbuf printed = STRBUF_INIT;
    struct log_record *record;

    if (replica->log == NULL)
        return;
    if (text == NULL) {
        json_print(record_encode(&history_row_record, replica->arena, row), &printed);
        text = printed.text;
    }
    xgrow(replica->records, replica->n_records, replica->capacity);
    record = &replica->records[replica->n_records++];
    record->key = arena_strdup(replica->arena, key);
    record->at_s = row->end_at_us / 1000000;
    record->length = strlen(text);
    record->text = arena_strndup(replica->arena, text, record->length);
}

void
history_replica_keep_steps(struct history_replica *replica, const struct step_batch *batch,
                           const char *text)
{
    struct log_record *record;
    uint64_t number;

    if (replica->log == NULL)
        return;
    random_bytes(&number, sizeof(number));
    xgrow(replica->records, replica->n_records, replica->capacity);
    record = &replica->records[replica->n_records++];
    record->key = arena_printf(replica->arena, "%s/steps/%016" PRIx64, batch->pod_uid, number);
    record->at_s = clock_real_us(&clock_system) / 1000000;
    record->length = strlen(text);
    record->text = arena_strndup(replica->arena, text, record->length);
}

void
history_replica_discard(struct history_replica *replica)
{
    replica->n_records = 0;
    arena_free(replica->arena);
    replica->arena = arena_new(0);
}

struct append {
    struct history_applied *applied;
    struct error *err;
    int64_t last;
};

static int
note_record(int64_t id, const char *key, void *context)
{
    struct append *a = context;

    a->last = id > a->last ? id : a->last;
    return history_applied_put(a->applied, id, key, a->err);
}

int
history_replica_append(struct history_replica *replica, struct history_file *file,
                       struct error *err)
{
    struct append a = {.applied = history_file_applied(file), .err = err};
    int r = 0;

    if (replica->n_records > 0)
        r = record_log_append(replica->log, replica->records, replica->n_records, note_record, &a,
                              err);
    if (r == -EUCLEAN) /* the database, not the file */
        r = error_wrap(err, -EIO, "the shared history");
    if (r == 0 && a.last > 0)
        r = history_applied_follow(a.applied, a.last, err);
    history_replica_discard(replica);
    return r;
}

int
history_replica_drop(struct history_replica *replica, int64_t before_s, struct error *err)
{
    return replica->log != NULL && before_s > 0 ? record_log_drop(replica->log, before_s, err) : 0;
}
