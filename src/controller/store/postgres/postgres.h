/* SPDX-License-Identifier: Apache-2.0 */
/* postgres.h - a session of a PostgreSQL server whose answers come in time, and
 * its errors
 *
 * Codes: -EAGAIN, the server is away, or another one takes its place: try again
 * with a new session. -ESTALE, a statement found another number of rows than it
 * expected. -ENOSPC, no space; rolled back. -EACCES, the user or his rights.
 * -ENOENT, there is no such database or table. -ENOTSUP, what Kiln cannot use: a
 * server that only reads, one of an old version, a pooler. -EPROTO, a mistake of
 * Kiln.
 *
 * Thread:  any; one at a time for each session. Connecting blocks for seconds.
 * See:     libpq's documentation, chapters 34.4 (asynchronous commands) and 34.5
 *          (pipelines), of PostgreSQL 15.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "lib/base/backoff.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct error;

/* How long a statement may take, unless said otherwise; and at most, when it is repeated. */
#define POSTGRES_PATIENCE_MS      10000
#define POSTGRES_PATIENCE_MOST_MS (32 * POSTGRES_PATIENCE_MS)

struct postgres {
    PGconn *db;
    char *where;         /* the server and database, for messages, without a password */
    bool is_doubted;     /* the server has warned: a commit may not be on a second disk */
    bool is_late;        /* an answer did not come in time */
    int64_t patience_ms; /* 0: POSTGRES_PATIENCE_MS */
};

/* For the next try: one that was not answered in time gets more, or it would be repeated
 * for ever over a slow line. Session: that of this try, or NULL.
 */
static inline int64_t
postgres_next_patience_ms(const struct postgres *session, int64_t before_ms)
{
    return session != NULL && session->is_late
               ? backoff_next(before_ms, 2 * POSTGRES_PATIENCE_MS, POSTGRES_PATIENCE_MOST_MS)
               : before_ms;
}

/* Life. Connect sets all that the session depends on. */
void postgres_close(struct postgres *p);
int postgres_connect(const char *url, const char *role, struct postgres **ret, struct error *err);

/* The same by another thread, where something waits: its loop goes on meanwhile, and -EAGAIN
 * if it does not wait any more. Has_waited: it was told of a wait already.
 */
struct engine_waits;
int postgres_connect_aside(const char *url, const char *role, const struct engine_waits *waits,
                           bool has_waited, struct postgres **ret, struct error *err);

/* The URL without its password. The caller frees it. */
char *postgres_where(const char *url) MUST_USE;

/* Parameters in PostgreSQL's binary format. Arrays have one dimension. */
#define POSTGRES_PARAMETERS 8
struct postgres_values {
    struct strbuf bytes[POSTGRES_PARAMETERS];
    int n;
};

void postgres_values_fini(struct postgres_values *v);
void postgres_add_int64(struct postgres_values *v, int64_t value);
void postgres_add_text(struct postgres_values *v, const char *text);

/* Begin an array of n elements, and add each of them. */
void postgres_add_int64_array(struct postgres_values *v, size_t n);
void postgres_add_bytes_array(struct postgres_values *v, size_t n);
void postgres_append_int64(struct postgres_values *v, int64_t value);
void postgres_append_bytes(struct postgres_values *v, const void *bytes, size_t length);

/* One statement, or without values several: waits for the answer. The result is
 * in binary form; the caller clears it. Ret_result may be NULL.
 */
int postgres_query(struct postgres *p, const char *text, const struct postgres_values *values,
                   PGresult **ret_result, struct error *err);
int postgres_exec(struct postgres *p, const char *text, struct error *err);

/* The pieces of a pipeline, which is one transaction. Sync ends it and returns
 * the first failure, with the number of its statement.
 */
int postgres_prepare(struct postgres *p, const char *name, const char *text, struct error *err);
int postgres_send(struct postgres *p, const char *name, const struct postgres_values *values,
                  struct error *err);
int postgres_sync(struct postgres *p, size_t *ret_failed, struct error *err);

/* True if a notification of LISTEN has come, or the session has ended, since the
 * last call. The descriptor can be read when there may be one; -1: the session has
 * ended.
 */
bool postgres_take_notices(struct postgres *p);
int postgres_descriptor(const struct postgres *p);

/* They read a result in binary form. Texts are followed by a NUL. */
int64_t postgres_int64(const PGresult *result, int row, int column);
const char *postgres_text(const PGresult *result, int row, int column, size_t *ret_length);
bool postgres_is_null(const PGresult *result, int row, int column);
