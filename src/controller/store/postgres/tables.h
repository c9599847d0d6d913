/* SPDX-License-Identifier: Apache-2.0 */
/* tables.h - the tables of a store in a PostgreSQL database
 *
 * They are in a schema of their own, "kiln". Their version is that of the SQLite
 * file with the same content (engine/schema.h), since it says which forms of
 * objects a controller must know.
 *
 * Thread:  any; blocks.
 */
#pragma once

#include <stdbool.h>

struct error;
struct postgres;

/* Creates the tables; *ret_was_there if there were tables already. Anew: those in
 * which no cluster has run are replaced (an earlier copy was broken off).
 */
int tables_create(struct postgres *p, bool anew, bool *ret_was_there, struct error *err);

/* -ENOENT: there are no tables. -ENOTSUP: they are of a later release. */
int tables_check(struct postgres *p, struct error *err);

/* Notes the version of this program. */
int tables_upgrade(struct postgres *p, struct error *err);

/* Adds a table that earlier releases do not have, if it is not there; columns: "(a int8, ...)",
 * and what may follow.
 */
int tables_add(struct postgres *p, const char *name, const char *columns, struct error *err);
