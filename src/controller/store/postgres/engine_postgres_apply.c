/* SPDX-License-Identifier: Apache-2.0 */
/* A batch is one pipeline, which the server runs as one transaction: first the
 * claim, which changes the counters only if no other controller has done so
 * since, then one statement for each kind of change. A statement that does not
 * find as many rows as it should divides by zero, and the transaction ends.
 *
 * If the session is lost before the answer comes, nobody knows whether the batch
 * is committed. A read would not tell: it shows a commit that no standby has
 * yet, and the standby that takes over lacks it. So the epoch is raised first,
 * by a commit that waits for the standby; what is in the database then stays
 * there. The number of batches tells whether this one is among them.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "controller/store/engine/checksum.h"
#include "controller/store/postgres/batch_fold.h"
#include "controller/store/postgres/engine_postgres.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

/* The first new session is tried at once: most are lost in a restart of the
 * server, or with an idle connection.
 */
#define PAUSE_LEAST_MS 20
#define PAUSE_MOST_MS  1000

/* True if the number of rows is the last parameter's. */
#define COUNTED(statement, expected)           \
    "WITH done AS (" statement " RETURNING 1)" \
    " SELECT 1 / (count(*) = " expected ")::int FROM done"

/* With the rows that the batch changes, for controllers that wait. */
static const char claim[] = "WITH done AS (UPDATE kiln.counters SET batches = batches + 1,"
                            " revision = $1::int8, reserved = $2::int8, job_id = $3::int8"
                            " WHERE id = 1 AND epoch = $4::int8 AND batches = $5::int8"
                            " AND revision = $6::int8 RETURNING batches, epoch, holder, revision),"
                            " listed AS (INSERT INTO kiln.changes"
                            " (batch, epoch, holder, revision, rows, deltas)"
                            " SELECT batches, epoch, holder, revision, $7::int8[], $8::int8[]"
                            " FROM done ON CONFLICT (batch) DO UPDATE SET epoch = excluded.epoch,"
                            " holder = excluded.holder, revision = excluded.revision,"
                            " at = excluded.at, rows = excluded.rows, deltas = excluded.deltas)"
                            " SELECT 1 / (count(*) = 1)::int FROM done";

static const char *const statements[ENGINE_VERBS] = {
    [ENGINE_INSERT] = "INSERT INTO kiln.objects"
                      " (id, revision, kind, namespace, name, body, checksum)"
                      " SELECT * FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[],"
                      " $5::bytea[], $6::bytea[], $7::int8[])",
    [ENGINE_UPDATE] = COUNTED("UPDATE kiln.objects AS o SET revision = n.revision, body = n.body,"
                              " checksum = n.checksum FROM unnest($1::int8[], $2::int8[],"
                              " $3::bytea[], $4::int8[]) AS n (id, revision, body, checksum)"
                              " WHERE o.id = n.id",
                              "$5::int8"),
    [ENGINE_DELETE] = COUNTED("DELETE FROM kiln.objects AS o USING unnest($1::int8[]) AS n (id)"
                              " WHERE o.id = n.id",
                              "$2::int8"),
    [ENGINE_ADD_DELTA] = "INSERT INTO kiln.deltas (object, revision, patch, checksum)"
                         " SELECT * FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::int8[])",
    [ENGINE_DROP_DELTA] = COUNTED("DELETE FROM kiln.deltas AS d USING unnest($1::int8[])"
                                  " AS n (revision) WHERE d.revision = n.revision",
                                  "$2::int8"),
    [ENGINE_ADD_BLOB] = "WITH n AS (SELECT * FROM unnest($1::int8[], $2::bytea[], $3::int8[],"
                        " $4::bytea[]) AS n (id, digest, count, content)),"
                        " contents AS (INSERT INTO kiln.blob_contents SELECT id, content FROM n)"
                        " INSERT INTO kiln.blobs SELECT id, digest, count FROM n",
    [ENGINE_COUNT_BLOB] = COUNTED("UPDATE kiln.blobs AS b SET count = n.count"
                                  " FROM unnest($1::int8[], $2::int8[]) AS n (id, count)"
                                  " WHERE b.id = n.id",
                                  "$3::int8"),
    [ENGINE_DROP_BLOB] =
        "WITH contents AS (DELETE FROM kiln.blob_contents AS c USING unnest($1::int8[])"
        " AS n (id) WHERE c.id = n.id),"
        " done AS (DELETE FROM kiln.blobs AS b USING unnest($1::int8[]) AS n (id)"
        " WHERE b.id = n.id RETURNING 1)"
        " SELECT 1 / (count(*) = $2::int8)::int FROM done",
    [ENGINE_PUT_SECRET] = "INSERT INTO kiln.secrets (name, value)"
                          " SELECT * FROM unnest($1::bytea[], $2::bytea[])"
                          " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [ENGINE_DROP_SECRET] =
        "WITH done AS (DELETE FROM kiln.secrets AS s USING unnest($1::bytea[]) AS n (name)"
        " WHERE s.name = n.name RETURNING 1)"
        " SELECT 1 / (count(*) BETWEEN $2::int8 AND $3::int8)::int FROM done",
};

/* The names of the prepared statements are short, since each batch has them. */
static const char *
name_of(int verb)
{
    static const char *const names[ENGINE_VERBS] = {"0", "1", "2", "3", "4",
                                                    "5", "6", "7", "8", "9"};

    return names[verb];
}

int
engine_postgres_prepare(struct postgres *writer, struct error *err)
{
    int r = postgres_prepare(writer, "claim", claim, err);

    for (int verb = 0; r == 0 && verb < ENGINE_VERBS; verb++)
        r = postgres_prepare(writer, name_of(verb), statements[verb], err);
    return r;
}

/* --- the parameters of each statement --------------------------------------- */

static void
add_rows(struct postgres_values *v, const struct engine_op *ops, size_t n)
{
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_int64(v, ops[i].row);
}

static void
add_revisions(struct postgres_values *v, const struct engine_op *ops, size_t n)
{
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_int64(v, ops[i].revision);
}

static void
add_counts(struct postgres_values *v, const struct engine_op *ops, size_t n)
{
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_int64(v, ops[i].count);
}

static void
add_bytes(struct postgres_values *v, const struct engine_op *ops, size_t n)
{
    postgres_add_bytes_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_bytes(v, ops[i].bytes, ops[i].length);
}

static void
add_checksums(struct postgres_values *v, const struct engine_op *ops, size_t n)
{
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_int64(
            v, checksum_of(ops[i].row, ops[i].revision, ops[i].bytes, ops[i].length));
}

static void
add_texts(struct postgres_values *v, const struct engine_op *ops, size_t n, size_t member)
{
    postgres_add_bytes_array(v, n);
    for (size_t i = 0; i < n; i++) {
        const char *text = *(const char *const *)(const void *)((const char *)&ops[i] + member);

        postgres_append_bytes(v, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    }
}

void
engine_postgres_fill(struct postgres_values *v, enum engine_verb verb, const struct engine_op *ops,
                     size_t n, size_t unsure_drops)
{
    switch (verb) {
    case ENGINE_INSERT:
        add_rows(v, ops, n);
        add_revisions(v, ops, n);
        add_texts(v, ops, n, offsetof(struct engine_op, kind));
        add_texts(v, ops, n, offsetof(struct engine_op, namespace));
        add_texts(v, ops, n, offsetof(struct engine_op, name));
        add_bytes(v, ops, n);
        add_checksums(v, ops, n);
        return;
    case ENGINE_UPDATE:
    case ENGINE_ADD_DELTA:
        add_rows(v, ops, n);
        add_revisions(v, ops, n);
        add_bytes(v, ops, n);
        add_checksums(v, ops, n);
        if (verb == ENGINE_UPDATE)
            postgres_add_int64(v, (int64_t)n);
        return;
    case ENGINE_ADD_BLOB:
        add_rows(v, ops, n);
        add_texts(v, ops, n, offsetof(struct engine_op, name));
        add_counts(v, ops, n);
        add_bytes(v, ops, n);
        return;
    case ENGINE_COUNT_BLOB:
        add_rows(v, ops, n);
        add_counts(v, ops, n);
        break;
    case ENGINE_DELETE:
    case ENGINE_DROP_BLOB:
        add_rows(v, ops, n);
        break;
    case ENGINE_DROP_DELTA:
        add_revisions(v, ops, n);
        break;
    case ENGINE_PUT_SECRET:
        add_texts(v, ops, n, offsetof(struct engine_op, name));
        add_bytes(v, ops, n);
        return;
    case ENGINE_DROP_SECRET:
        add_texts(v, ops, n, offsetof(struct engine_op, name));
        postgres_add_int64(v, (int64_t)(n - unsure_drops));
        break;
    }
    postgres_add_int64(v, (int64_t)n);
}

static int
send_claim(struct engine_postgres *e, const struct engine_batch *batch,
           const struct batch_fold *fold, struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_int64(&v, batch->after.revision);
    postgres_add_int64(&v, batch->after.reserved);
    postgres_add_int64(&v, batch->after.job_id);
    postgres_add_int64(&v, e->epoch);
    postgres_add_int64(&v, e->batches);
    postgres_add_int64(&v, batch->expected_revision);
    engine_postgres_add_changes(&v, fold);
    r = postgres_send(e->writer, "claim", &v, err);
    postgres_values_fini(&v);
    return r;
}

static int
send_verb(struct engine_postgres *e, const struct batch_fold *fold, enum engine_verb verb,
          struct error *err)
{
    struct postgres_values v = {0};
    size_t n = batch_fold_count(fold, verb);
    int r;

    if (n == 0)
        return 0;
    engine_postgres_fill(&v, verb, fold->ops + fold->first[verb], n, fold->unsure_drops);
    r = postgres_send(e->writer, name_of((int)verb), &v, err);
    postgres_values_fini(&v);
    return r;
}

/* Removals come before additions, so that a name or revision is free again. */
static int
send_batch(struct engine_postgres *e, const struct engine_batch *batch,
           const struct batch_fold *fold, struct error *err)
{
    int r = send_claim(e, batch, fold, err);

    for (int verb = 0; r == 0 && verb < ENGINE_VERBS; verb++)
        r = send_verb(e, fold, (enum engine_verb)verb, err);
    return r;
}

/* -ESTALE: another controller leads. -EAGAIN: not known. */
static int
try_batch(struct engine_postgres *e, const struct engine_batch *batch,
          const struct batch_fold *fold, struct error *err)
{
    size_t failed = 0;
    int r;

    e->writer->is_doubted = false;
    r = send_batch(e, batch, fold, err);
    if (r == 0)
        r = postgres_sync(e->writer, &failed, err);
    if (r == -ESTALE && failed > 0)
        r = error_set(err, -EUCLEAN,
                      "database '%s' was changed by another program: only Kiln may change the "
                      "tables of its schema",
                      e->where);
    if (r == 0 && e->writer->is_doubted)
        r = error_set(err, -EAGAIN, "database '%s': the wait for its standby was broken off",
                      e->where);
    return r;
}

static int
fenced(struct engine_postgres *e, struct error *err)
{
    atomic_store(&e->is_fenced, true);
    return error_set(err, -ESTALE,
                     "database '%s' was taken over by another controller: only one may serve it",
                     e->where);
}

/* Tells once that writes wait, and once that they go on. */
static void
note_waiting(struct engine_postgres *e, bool *waits, const struct error *why)
{
    if (!*waits && why != NULL)
        log_warning("Writes wait for the database: %s", why->text);
    else if (*waits && why == NULL)
        log_info("The database '%s' is there again: writes go on", e->where);
    *waits = why != NULL;
}

/* 1 if the batch is committed, 0 if not. An older backup, or a standby without
 * all commits, is no place to go on with what is in memory. The next start does
 * (-EIO, so that the service manager starts it).
 */
static int
is_committed(const struct engine_postgres *e, int64_t before, struct error *err)
{
    if (e->batches >= before)
        return e->batches > before;
    return error_set(err, -EIO,
                     "database '%s' lacks changes that it had confirmed: an older backup was "
                     "restored, or a standby was promoted that did not have them",
                     e->where);
}

/* Applies the batch, however often the session is lost. */
static int
apply(struct engine_postgres *e, const struct engine_batch *batch, const struct batch_fold *fold,
      struct error *err)
{
    int64_t before = e->batches;
    int64_t pause_ms = 0, patience_ms = 0;
    bool waits = false;
    int r = -EAGAIN;

    while (r == -EAGAIN) {
        r = e->writer != NULL ? 0 : engine_postgres_retake(e, err);
        if (r == 0 && (r = is_committed(e, before, err)) > 0)
            return note_waiting(e, &waits, NULL), 0;
        if (r == 0) {
            e->writer->patience_ms = patience_ms;
            r = try_batch(e, batch, fold, err);
        }
        if (r == 0)
            e->batches++;
        if (r == -EACCES) /* nothing was committed, and somebody will mend it */
            r = -EAGAIN;
        if (r != -EAGAIN)
            break;
        patience_ms = postgres_next_patience_ms(e->writer, patience_ms);
        postgres_close(e->writer);
        e->writer = NULL;
        note_waiting(e, &waits, err);
        if (atomic_load(&e->stops))
            return error_wrap(err, -EIO, "stopping while writes wait");
        pause_ms = backoff_next(pause_ms, PAUSE_LEAST_MS, PAUSE_MOST_MS);
        engine_postgres_pause(e, pause_ms);
    }
    if (r == 0)
        note_waiting(e, &waits, NULL);
    return r == -ESTALE ? fenced(e, err) : r;
}

enum engine_outcome
engine_postgres_apply(struct engine *engine, const struct engine_batch *batch, struct error *err)
{
    struct engine_postgres *e = engine_postgres_of(engine);
    struct error why = {0};
    struct batch_fold fold;
    int r = batch_fold_init(&fold, batch->ops, batch->n_ops, &why);

    if (r == 0)
        r = apply(e, batch, &fold, &why);
    batch_fold_fini(&fold);
    if (r == 0 && batch->is_last)
        engine_postgres_release(e);
    if (r < 0 && err != NULL)
        *err = why;
    if (r < 0 && r != -ESTALE)
        error_wrap(err, r, "cannot commit");
    switch (r) {
    case 0:
        return ENGINE_COMMITTED;
    case -ENOSPC:
        return ENGINE_REFUSED;
    case -ESTALE:
        return ENGINE_FENCED;
    default:
        return ENGINE_UNKNOWN;
    }
}
