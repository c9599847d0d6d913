/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of engine_postgres.c where libpq was missing at the build. */
#include <errno.h>
#include <stdlib.h>

#include "controller/store/engine/engine.h"
#include "controller/store/engine/record_log.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

static int
refuse(struct error *err)
{
    return error_set(err, -ENOTSUP,
                     "this kiln-controller was built without PostgreSQL: install libpq-dev, and "
                     "configure and build again, or remove `store` from controller.yaml");
}

int
engine_postgres_create(const char *url, bool anew, bool *ret_was_there, struct error *err)
{
    (void)url;
    (void)anew;
    (void)ret_was_there;
    return refuse(err);
}

int
engine_postgres_open(const struct engine_postgres_settings *settings, struct engine **ret_engine,
                     struct engine_counters *ret_counters, struct error *err)
{
    (void)settings;
    (void)ret_engine;
    (void)ret_counters;
    return refuse(err);
}

int
engine_postgres_attach(const char *url, struct engine **ret_engine,
                       struct engine_counters *ret_counters, struct error *err)
{
    (void)url;
    (void)ret_engine;
    (void)ret_counters;
    return refuse(err);
}

/* No store in a database was opened before. */
struct engine *
engine_postgres_events_new(const char *url, int64_t epoch, int64_t age_s)
{
    (void)url;
    (void)epoch;
    (void)age_s;
    abort();
}

/* It has no members: no store in a database can be opened, and so none is used. */
struct record_log *
record_log_new(const char *url)
{
    (void)url;
    return xcalloc(1, 1);
}

void
record_log_free(struct record_log *log)
{
    free(log);
}

int
record_log_append(struct record_log *log, const struct log_record *records, size_t n,
                  log_number_fn *tell, void *context, struct error *err)
{
    (void)log;
    (void)records;
    (void)n;
    (void)tell;
    (void)context;
    return refuse(err);
}

int
record_log_last(struct record_log *log, int64_t *ret_last, struct error *err)
{
    (void)log;
    (void)ret_last;
    return refuse(err);
}

int
record_log_read(struct record_log *log, int64_t after, log_record_fn *read, void *context,
                struct error *err)
{
    (void)log;
    (void)after;
    (void)read;
    (void)context;
    return refuse(err);
}

int
record_log_drop(struct record_log *log, int64_t before_s, struct error *err)
{
    (void)log;
    (void)before_s;
    return refuse(err);
}
