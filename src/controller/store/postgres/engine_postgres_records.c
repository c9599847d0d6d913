/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/record_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/postgres/postgres.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define PORTION      1000
#define DROP_AT_ONCE 5000

struct record_log {
    char *url;
    struct postgres *session; /* or NULL */
    int64_t patience_ms;      /* 0: the usual one */
};

struct record_log *
record_log_new(const char *url)
{
    struct record_log *log = xnew(struct record_log);

    log->url = xstrdup(url);
    return log;
}

void
record_log_free(struct record_log *log)
{
    if (log == NULL)
        return;
    postgres_close(log->session);
    free(log->url);
    free(log);
}

/* A session that was lost while nobody used it is replaced at once; where none
 * can be made, a second try would only take its time again, and a stop waits.
 */
static int
ask(struct record_log *log, const char *text, const struct postgres_values *values,
    PGresult **ret_result, struct error *err)
{
    int tries = log->session != NULL ? 2 : 1;
    int r = -EAGAIN;

    for (int i = 0; r == -EAGAIN && i < tries; i++) {
        r = log->session != NULL
                ? 0
                : postgres_connect(log->url, "kiln-controller history", &log->session, err);
        if (r == 0) {
            log->session->patience_ms = log->patience_ms;
            r = postgres_query(log->session, text, values, ret_result, err);
        }
        if (r == 0)
            log->patience_ms = 0;
        if (r == -EAGAIN) {
            log->patience_ms = postgres_next_patience_ms(log->session, log->patience_ms);
            postgres_close(log->session);
            log->session = NULL;
        }
    }
    return r;
}

static void
add_records(struct postgres_values *v, const struct log_record *records, size_t n)
{
    postgres_add_bytes_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_bytes(v, records[i].key, strlen(records[i].key));
    postgres_add_int64_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_int64(v, records[i].at_s);
    postgres_add_bytes_array(v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_bytes(v, records[i].text, records[i].length);
}

static int
visit_numbers(PGresult *result, log_number_fn *visit, void *context)
{
    int r = 0;

    for (int i = 0; r == 0 && i < PQntuples(result); i++) {
        size_t length;

        r = visit(postgres_int64(result, i, 0), postgres_text(result, i, 1, &length), context);
    }
    return r;
}

/* Some were there: their first append was committed, and its answer or what came after
 * it was lost. The statement that adds may not see what others have added meanwhile.
 */
static int
find_numbers(struct record_log *log, const struct log_record *records, size_t n,
             log_number_fn *visit, void *context, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int r;

    postgres_add_bytes_array(&v, n);
    for (size_t i = 0; i < n; i++)
        postgres_append_bytes(&v, records[i].key, strlen(records[i].key));
    r = ask(log, "SELECT id, key FROM kiln.history WHERE key = ANY($1::bytea[])", &v, &result, err);
    postgres_values_fini(&v);
    if (r == 0)
        r = visit_numbers(result, visit, context);
    PQclear(result);
    return r;
}

int
record_log_append(struct record_log *log, const struct log_record *records, size_t n,
                  log_number_fn *visit, void *context, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int r;

    add_records(&v, records, n);
    r = ask(log,
            "INSERT INTO kiln.history (key, at, record)"
            " SELECT * FROM unnest($1::bytea[], $2::int8[], $3::bytea[])"
            " ON CONFLICT (key) DO NOTHING RETURNING id, key",
            &v, &result, err);
    postgres_values_fini(&v);
    if (r == 0)
        r = (size_t)PQntuples(result) == n ? visit_numbers(result, visit, context)
                                           : find_numbers(log, records, n, visit, context, err);
    PQclear(result);
    return r;
}

/* The sequence, not the table: old records are dropped. */
int
record_log_last(struct record_log *log, int64_t *ret_last, struct error *err)
{
    PGresult *result = NULL;
    int r = ask(log, "SELECT last_value::int8 FROM kiln.history_id_seq", NULL, &result, err);

    if (r == 0)
        *ret_last = postgres_int64(result, 0, 0);
    PQclear(result);
    return r;
}

/* The number of records that were read, or a negative errno. */
static int
read_portion(struct record_log *log, int64_t *after, log_record_fn *read, void *context,
             struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int n = 0, r;

    postgres_add_int64(&v, *after);
    postgres_add_int64(&v, PORTION);
    r = ask(log,
            "SELECT id, key, record FROM kiln.history WHERE id > $1::int8"
            " ORDER BY id LIMIT $2::int8",
            &v, &result, err);
    postgres_values_fini(&v);
    for (; r == 0 && n < PQntuples(result); n++) {
        size_t length;
        const char *key = postgres_text(result, n, 1, &length);
        const char *text = postgres_text(result, n, 2, &length);

        *after = postgres_int64(result, n, 0);
        r = read(*after, key, text, length, context);
    }
    PQclear(result);
    return r < 0 ? r : n;
}

int
record_log_read(struct record_log *log, int64_t after, log_record_fn *read, void *context,
                struct error *err)
{
    int n;

    while ((n = read_portion(log, &after, read, context, err)) == PORTION)
        continue;
    return n < 0 ? n : 0;
}

int
record_log_drop(struct record_log *log, int64_t before_s, struct error *err)
{
    struct postgres_values v = {0};
    int r;

    postgres_add_int64(&v, before_s);
    postgres_add_int64(&v, DROP_AT_ONCE);
    r = ask(log,
            "DELETE FROM kiln.history WHERE id IN (SELECT id FROM kiln.history"
            " WHERE at < $1::int8 ORDER BY at LIMIT $2::int8)",
            &v, NULL, err);
    postgres_values_fini(&v);
    return r;
}
