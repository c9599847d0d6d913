/* SPDX-License-Identifier: Apache-2.0 */
/* The address of the controller that leads, and the key of its relays, for the
 * controllers that wait. The table is made by the first leader that has an address; one of an
 * earlier release knows nothing of it.
 */
#include <errno.h>
#include <stdio.h>

#include "controller/store/postgres/engine_postgres.h"
#include "controller/store/postgres/tables.h"
#include "lib/base/error.h"

static int
make_table(struct postgres *p, struct error *err)
{
    return tables_add(p, "kiln.relay",
                      "("
                      " id int8 PRIMARY KEY CHECK (id = 1),"
                      " holder text NOT NULL,"
                      " address text NOT NULL,"
                      " tls_address text NOT NULL,"
                      " key text NOT NULL)",
                      err);
}

int
engine_postgres_publish(struct engine_postgres *e, const struct engine_leader *self,
                        struct error *err)
{
    struct postgres_values v = {0};
    int r = make_table(e->writer, err);

    if (r < 0)
        return r;
    postgres_add_text(&v, e->holder);
    postgres_add_text(&v, self->address);
    postgres_add_text(&v, self->tls_address);
    postgres_add_text(&v, self->key);
    r = postgres_query(e->writer,
                       "INSERT INTO kiln.relay"
                       " VALUES (1, $1::text, $2::text, $3::text, $4::text)"
                       " ON CONFLICT (id) DO UPDATE SET holder = $1::text, address = $2::text,"
                       " tls_address = $3::text, key = $4::text",
                       &v, NULL, err);
    postgres_values_fini(&v);
    return r;
}

static void
copy(char *to, size_t size, const PGresult *result, int column)
{
    snprintf(to, size, "%s", postgres_text(result, 0, column, NULL));
}

int
engine_postgres_read_address(struct postgres *p, const char *holder,
                             struct engine_leader *ret_leader)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int r = postgres_query(p, "SELECT (to_regclass('kiln.relay') IS NULL)::int::int8", NULL,
                           &result, NULL);

    if (r == 0 && postgres_int64(result, 0, 0) != 0)
        r = -ENOENT;
    PQclear(result);
    if (r < 0)
        return r;
    postgres_add_text(&v, holder);
    r = postgres_query(p,
                       "SELECT address, tls_address, key FROM kiln.relay"
                       " WHERE id = 1 AND holder = $1::text",
                       &v, &result, NULL);
    postgres_values_fini(&v);
    if (r == 0 && PQntuples(result) == 0)
        r = -ENOENT;
    if (r == 0) {
        copy(ret_leader->address, sizeof(ret_leader->address), result, 0);
        copy(ret_leader->tls_address, sizeof(ret_leader->tls_address), result, 1);
        copy(ret_leader->key, sizeof(ret_leader->key), result, 2);
    }
    PQclear(result);
    return r;
}
