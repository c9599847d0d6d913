/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h - SQLite calls that set Kiln's errors: what failed, in which file, what
 * to do
 *
 * Thread:  one at a time per connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;

/* Life. Open creates the file with mode 0600 if there is none. */
void sql_close(sqlite3 *db);
int sql_open(const char *path, sqlite3 **ret_db, struct error *err);

/* All return 0 or a negative errno: -ENOSPC, -EIO, -EUCLEAN (damaged), -EBUSY,
 * -EACCES, -EROFS, -ENOMEM; -EPROTO for a bug in Kiln.
 */
int sql_exec(sqlite3 *db, const char *text, struct error *err);
int sql_prepare(sqlite3 *db, const char *text, sqlite3_stmt **ret_statement, struct error *err);

/* Runs a bound statement that returns no rows, and resets it. */
int sql_run(sqlite3_stmt *statement, struct error *err);

/* Runs a query that returns one number. */
int sql_number(sqlite3 *db, const char *text, int64_t *ret_number, struct error *err);

/* The last failure of the connection: whether it was a lack of space; its
 * message and errno. Must be called right after the failure.
 */
bool sql_has_no_space(sqlite3 *db);
int sql_error(sqlite3 *db, struct error *err);
