/* SPDX-License-Identifier: Apache-2.0 */
/* libpq waits for ever, so every wait here has an end: a server that is stopped,
 * or cut off, answers nothing, and its TCP connection may look alive. Nobody
 * knows then which statements of the session were carried out; the callers find
 * out with another session.
 */
#include "controller/store/postgres/postgres.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

#define OLDEST_SERVER 130000

/* --- errors ---------------------------------------------------------------- */

static const struct cause {
    const char *state; /* SQLSTATE, or its class */
    int code;
    const char *remedy;
} causes[] = {
    {"22012", -ESTALE, "another program has changed the tables of Kiln"},
    {"23", -EUCLEAN, "another program has changed the tables of Kiln: only Kiln may do so"},
    {"25006", -EAGAIN, "this server only reads: name the primary server, or all of them"},
    {"28", -EACCES, "check the user and the password (a file ~/.pgpass of the service user)"},
    {"3D000", -ENOENT, "create the database (createdb), or correct its name in `store`"},
    {"3F000", -ENOENT, "run kiln-controller --init once"},
    {"42501", -EACCES, "let the user create a schema in this database, and own it"},
    {"42P01", -ENOENT, "run kiln-controller --init once"},
    {"53100", -ENOSPC, "free space on the database server"},
    {"53300", -EAGAIN, "raise max_connections of the database server"},
    {"53", -ENOSPC, "give the database server more memory or space"},
    {"55P03", -EAGAIN, "another session holds the tables of Kiln"},
    {"58", -EIO, "look into the log of the database server"},
    {"XX", -EIO, "look into the log of the database server"},
    {"57", -EAGAIN, "the database server stops or starts"},
    {"08", -EAGAIN, "check that the database server runs and can be reached"},
    {"40", -EAGAIN, "another session holds the tables of Kiln"},
};

static const struct cause *
cause_of(const char *state)
{
    static const struct cause lost = {"", -EAGAIN,
                                      "check that the database server runs and can be reached"};
    static const struct cause mistake = {"", -EPROTO, "this is a bug in Kiln; please report it"};

    if (state == NULL)
        return &lost;
    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        if (strncmp(state, causes[i].state, strlen(causes[i].state)) == 0)
            return &causes[i];
    return &mistake;
}

/* The first line of the server's words. */
static int
words_length(const char *words)
{
    return (int)strcspn(words, "\n");
}

static int
set_error(const struct postgres *p, const char *state, const char *words, struct error *err)
{
    const struct cause *cause = cause_of(state);

    return error_set(err, cause->code, "database '%s': %.*s; %s", p->where, words_length(words),
                     words, cause->remedy);
}

static int
lost(struct postgres *p, struct error *err)
{
    return set_error(p, NULL, PQerrorMessage(p->db), err);
}

static int64_t
patience_ms(const struct postgres *p)
{
    return p->patience_ms > 0 ? p->patience_ms : POSTGRES_PATIENCE_MS;
}

static int
late(struct postgres *p, struct error *err)
{
    p->is_late = true;
    return error_set(err, -EAGAIN,
                     "database '%s': no answer within %" PRId64
                     " s; check that the server runs, and that "
                     "its synchronous standby does",
                     p->where, patience_ms(p) / 1000);
}

static int
check_result(struct postgres *p, const PGresult *result, struct error *err)
{
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_PIPELINE_SYNC:
        return 0;
    case PGRES_PIPELINE_ABORTED: /* an earlier statement has failed */
        return -ECANCELED;
    default:
        break;
    }
    return set_error(p, PQresultErrorField(result, PG_DIAG_SQLSTATE),
                     PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) != NULL
                         ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY)
                         : PQerrorMessage(p->db),
                     err);
}

/* The server warns if the wait for its standby was broken off after a commit. */
static void
on_notice(void *context, const PGresult *result)
{
    struct postgres *p = context;
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    if (severity == NULL || strcmp(severity, "WARNING") != 0)
        return;
    p->is_doubted = true;
    log_warning("database '%s': %s", p->where, words != NULL ? words : "a warning");
}

/* --- life ------------------------------------------------------------------ */

static void
add_option(struct strbuf *out, const PQconninfoOption *all, const char *key, const char *before)
{
    for (const PQconninfoOption *o = all; o->keyword != NULL; o++)
        if (strcmp(o->keyword, key) == 0 && o->val != NULL && o->val[0] != '\0')
            strbuf_printf(out, "%s%s", before, o->val);
}

char *
postgres_where(const char *url)
{
    PQconninfoOption *all = PQconninfoParse(url, NULL);
    struct strbuf out = STRBUF_INIT;

    strbuf_add_text(&out, "postgresql://");
    if (all != NULL) {
        add_option(&out, all, "host", "");
        add_option(&out, all, "port", ":");
        add_option(&out, all, "dbname", "/");
        PQconninfoFree(all);
    }
    return strbuf_take(&out);
}

/* The session itself sets all that it depends on: the server's own
 * settings may be others. Plans never depend on how many rows a table had when
 * a statement was prepared: they always use the keys.
 */
static const char session[] = "SET synchronous_commit = on;"
                              "SET default_transaction_isolation = 'read committed';"
                              "SET default_transaction_read_only = off;"
                              "SET default_transaction_deferrable = off;"
                              "SET statement_timeout = 0;"
                              "SET lock_timeout = 5000;"
                              "SET idle_in_transaction_session_timeout = 60000;"
                              "SET client_min_messages = warning;"
                              "SET bytea_output = 'hex';"
                              "SET jit = off;"
                              "SET max_parallel_workers_per_gather = 0;"
                              "SET enable_seqscan = off;"
                              "SET enable_hashjoin = off;"
                              "SET enable_mergejoin = off";

/* A pooler hands each transaction to another session, which lacks the settings. */
static int
check_pooler(struct postgres *p, struct error *err)
{
    PGresult *result = NULL;
    int r = postgres_query(p, "SELECT pg_backend_pid()::int8", NULL, &result, err);

    if (r == 0 && postgres_int64(result, 0, 0) != PQbackendPID(p->db))
        r = error_set(err, -ENOTSUP,
                      "database '%s': a connection pooler is between Kiln and the server; name "
                      "the server itself",
                      p->where);
    PQclear(result);
    return r;
}

static int
check_server(struct postgres *p, struct error *err)
{
    PGresult *result = NULL;
    int r;

    if (PQserverVersion(p->db) < OLDEST_SERVER)
        return error_set(err, -ENOTSUP, "database '%s': PostgreSQL %d is too old: 13 is the oldest",
                         p->where, PQserverVersion(p->db) / 10000);
    r = check_pooler(p, err);
    if (r == 0)
        r = postgres_query(p, "SELECT CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END::int8", NULL,
                           &result, err);
    if (r == 0 && postgres_int64(result, 0, 0) != 0)
        r = error_set(err, -EAGAIN,
                      "database '%s': this server is a standby, which only reads; name the "
                      "primary server, or all of them",
                      p->where);
    PQclear(result);
    return r;
}

/* A refused login has no SQLSTATE, only words; those of other languages count as
 * a server that is away.
 */
static int
refused(struct postgres *p, struct error *err)
{
    static const struct {
        const char *words, *state;
    } refusals[] = {
        {"database \"", "3D000"},           {"role \"", "28000"},
        {"authentication failed", "28P01"}, {"no password supplied", "28P01"},
        {"pg_hba.conf", "28000"},           {"invalid", "28000"}, /* of the URL */
    };
    const char *words = PQerrorMessage(p->db);

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
        if (strstr(words, refusals[i].words) != NULL)
            return set_error(p, refusals[i].state, words, err);
    return lost(p, err);
}

static PGconn *
dial(const char *url, const char *role)
{
    /* Keywords before "dbname" are defaults that the URL may replace. */
    const char *keywords[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                              "keepalives_count", "tcp_user_timeout", "target_session_attrs",
                              "dbname",           "application_name", NULL};
    const char *values[] = {"5", "5", "2", "3", "10000", "read-write", url, role, NULL};

    return PQconnectdbParams(keywords, values, 1);
}

int
postgres_connect(const char *url, const char *role, struct postgres **ret, struct error *err)
{
    struct postgres *p = xnew(struct postgres);
    int r = 0;

    p->where = postgres_where(url);
    p->db = dial(url, role);
    if (p->db == NULL || PQstatus(p->db) != CONNECTION_OK)
        r = p->db == NULL ? -ENOMEM : refused(p, err);
    if (r == 0) {
        (void)PQsetNoticeReceiver(p->db, on_notice, p);
        r = postgres_exec(p, session, err);
    }
    if (r == 0)
        r = check_server(p, err);
    if (r < 0) {
        postgres_close(p);
        return r;
    }
    *ret = p;
    return 0;
}

void
postgres_close(struct postgres *p)
{
    if (p == NULL)
        return;
    PQfinish(p->db);
    free(p->where);
    free(p);
}

/* --- values ---------------------------------------------------------------- */

#define OID_BYTEA 17
#define OID_INT8  20

static struct strbuf *
next_value(struct postgres_values *v)
{
    struct strbuf *s = &v->bytes[v->n++];

    strbuf_init(s);
    return s;
}

static void
add_int32(struct strbuf *s, uint32_t value)
{
    uint32_t wire = htobe32(value);

    strbuf_add(s, &wire, sizeof(wire));
}

static void
add_int64(struct strbuf *s, int64_t value)
{
    uint64_t wire = htobe64((uint64_t)value);

    strbuf_add(s, &wire, sizeof(wire));
}

void
postgres_values_fini(struct postgres_values *v)
{
    while (v->n > 0)
        strbuf_fini(&v->bytes[--v->n]);
}

void
postgres_add_int64(struct postgres_values *v, int64_t value)
{
    add_int64(next_value(v), value);
}

void
postgres_add_text(struct postgres_values *v, const char *text)
{
    strbuf_add(next_value(v), text, strlen(text));
}

/* Dimensions, whether there are NULLs, type, length, lower bound. */
static void
begin_array(struct postgres_values *v, uint32_t type, size_t n)
{
    struct strbuf *s = next_value(v);

    add_int32(s, n > 0 ? 1 : 0);
    add_int32(s, 0);
    add_int32(s, type);
    if (n == 0)
        return;
    add_int32(s, (uint32_t)n);
    add_int32(s, 1);
}

void
postgres_add_int64_array(struct postgres_values *v, size_t n)
{
    begin_array(v, OID_INT8, n);
}

void
postgres_add_bytes_array(struct postgres_values *v, size_t n)
{
    begin_array(v, OID_BYTEA, n);
}

void
postgres_append_int64(struct postgres_values *v, int64_t value)
{
    struct strbuf *s = &v->bytes[v->n - 1];

    add_int32(s, sizeof(value));
    add_int64(s, value);
}

void
postgres_append_bytes(struct postgres_values *v, const void *bytes, size_t length)
{
    struct strbuf *s = &v->bytes[v->n - 1];

    add_int32(s, (uint32_t)length);
    strbuf_add(s, bytes, length);
}

int64_t
postgres_int64(const PGresult *result, int row, int column)
{
    uint64_t wire = 0;

    if (PQgetlength(result, row, column) == (int)sizeof(wire))
        memcpy(&wire, PQgetvalue(result, row, column), sizeof(wire));
    return (int64_t)be64toh(wire);
}

const char *
postgres_text(const PGresult *result, int row, int column, size_t *ret_length)
{
    if (ret_length != NULL)
        *ret_length = (size_t)PQgetlength(result, row, column);
    return PQgetvalue(result, row, column);
}

bool
postgres_is_null(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) != 0;
}

/* --- statements ------------------------------------------------------------ */

struct pointers {
    const char *values[POSTGRES_PARAMETERS];
    int lengths[POSTGRES_PARAMETERS];
    int formats[POSTGRES_PARAMETERS];
};

static int
point(const struct postgres_values *v, struct pointers *out)
{
    for (int i = 0; v != NULL && i < v->n; i++) {
        out->values[i] = v->bytes[i].text;
        out->lengths[i] = (int)v->bytes[i].length;
        out->formats[i] = 1;
    }
    return v != NULL ? v->n : 0;
}

/* Waits until something can be read, or written if there is more to send. */
static int
wait_for(struct postgres *p, int64_t until_us, bool sends, struct error *err)
{
    int64_t left_ms = (until_us - clock_monotonic_us(&clock_system)) / 1000;
    struct pollfd fd = {.fd = PQsocket(p->db),
                        .events = (short)(sends ? POLLIN | POLLOUT : POLLIN)};
    int n;

    if (fd.fd < 0)
        return lost(p, err);
    if (left_ms <= 0)
        return late(p, err);
    n = poll(&fd, 1, (int)left_ms);
    if (n < 0 && errno != EINTR)
        return error_set(err, -EAGAIN, "database '%s': %s", p->where, strerror(errno));
    if (n > 0 && (fd.revents & ~POLLOUT) != 0 && PQconsumeInput(p->db) == 0)
        return lost(p, err);
    return 0;
}

/* The server answers while it is still being sent to, so both go on at once. */
static int
flush(struct postgres *p, int64_t until_us, struct error *err)
{
    int more, r = 0;

    while (r == 0 && (more = PQflush(p->db)) != 0)
        r = more < 0 ? lost(p, err) : wait_for(p, until_us, true, err);
    return r;
}

static int64_t
patience(const struct postgres *p)
{
    return clock_monotonic_us(&clock_system) + patience_ms(p) * 1000;
}

/* The next result, or NULL at the end of a statement's results. */
static int
next_result(struct postgres *p, int64_t until_us, PGresult **ret, struct error *err)
{
    int r = 0;

    while (r == 0 && PQisBusy(p->db) != 0)
        r = wait_for(p, until_us, false, err);
    if (r == 0)
        *ret = PQgetResult(p->db);
    return r;
}

/* The last result counts, or the first failure. */
static int
gather(struct postgres *p, PGresult **ret_result, struct error *err)
{
    int64_t until_us = patience(p);
    PGresult *result = NULL, *last = NULL;
    int outcome = 0;
    int r = flush(p, until_us, err);

    while (r == 0 && (r = next_result(p, until_us, &result, err)) == 0 && result != NULL) {
        if (outcome == 0)
            outcome = check_result(p, result, err);
        PQclear(last);
        last = result;
    }
    if (r == 0)
        r = outcome;
    if (r == 0 && ret_result != NULL)
        *ret_result = last;
    else
        PQclear(last);
    return r;
}

int
postgres_query(struct postgres *p, const char *text, const struct postgres_values *values,
               PGresult **ret_result, struct error *err)
{
    struct pointers at;
    int n = point(values, &at);

    if (PQsendQueryParams(p->db, text, n, NULL, at.values, at.lengths, at.formats, 1) == 0)
        return lost(p, err);
    return gather(p, ret_result, err);
}

int
postgres_exec(struct postgres *p, const char *text, struct error *err)
{
    if (PQsendQuery(p->db, text) == 0)
        return lost(p, err);
    return gather(p, NULL, err);
}

bool
postgres_take_notices(struct postgres *p)
{
    bool has_come = PQconsumeInput(p->db) == 0;
    PGnotify *notice;

    while ((notice = PQnotifies(p->db)) != NULL) {
        has_come = true;
        PQfreemem(notice);
    }
    return has_come;
}

int
postgres_descriptor(const struct postgres *p)
{
    return PQsocket(p->db);
}

int
postgres_prepare(struct postgres *p, const char *name, const char *text, struct error *err)
{
    if (PQsendPrepare(p->db, name, text, 0, NULL) == 0)
        return lost(p, err);
    return gather(p, NULL, err);
}

int
postgres_send(struct postgres *p, const char *name, const struct postgres_values *values,
              struct error *err)
{
    struct pointers at;
    int n = point(values, &at);

    if (PQpipelineStatus(p->db) == PQ_PIPELINE_OFF
        && (PQsetnonblocking(p->db, 1) != 0 || PQenterPipelineMode(p->db) == 0))
        return lost(p, err);
    if (PQsendQueryPrepared(p->db, name, n, at.values, at.lengths, at.formats, 1) == 0)
        return lost(p, err);
    return 0;
}

/* Results of a pipeline: those of each statement end with NULL, and the sync
 * comes last.
 */
int
postgres_sync(struct postgres *p, size_t *ret_failed, struct error *err)
{
    int64_t until_us = patience(p);
    bool has_ended = false;
    size_t at = 0;
    int outcome = 0;
    int r = PQpipelineSync(p->db) == 0 ? lost(p, err) : flush(p, until_us, err);

    while (r == 0 && !has_ended) {
        PGresult *result = NULL;

        r = next_result(p, until_us, &result, err);
        if (r == 0 && result == NULL && PQstatus(p->db) != CONNECTION_OK)
            r = lost(p, err);
        at += r == 0 && result == NULL;
        if (r < 0 || result == NULL)
            continue;
        has_ended = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (outcome == 0 && (outcome = check_result(p, result, err)) < 0)
            *ret_failed = at;
        PQclear(result);
    }
    if (r == 0 && (PQexitPipelineMode(p->db) == 0 || PQsetnonblocking(p->db, 0) != 0))
        r = lost(p, err);
    return r < 0 ? r : outcome;
}
