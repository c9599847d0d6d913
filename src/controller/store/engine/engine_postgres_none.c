/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of engine_postgres.c where libpq was missing at the build. */
#include <errno.h>

#include "controller/store/engine/engine.h"
#include "lib/base/error.h"

static int
refuse(struct error *err)
{
    return error_set(err, -ENOTSUP,
                     "this kiln-controller was built without PostgreSQL: install libpq-dev, and "
                     "configure and build again, or remove `store` from controller.yaml");
}

int
engine_postgres_create(const char *url, bool *ret_was_there, struct error *err)
{
    (void)url;
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
