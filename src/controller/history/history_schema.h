/* SPDX-License-Identifier: Apache-2.0 */
/* history_schema.h - the tables of history, and the upgrade of earlier ones
 *
 * The upgrade is made of the steps of store/engine/schema_steps.h.
 *
 * Times are seconds since 1970. Texts that recur (users, nodes, reasons) are
 * numbers in `words`, which keeps rows small.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <sqlite3.h>

struct error;

#define HISTORY_SCHEMA_VERSION 13

/* -ENOTSUP: of a later version, or not a history of Kiln. */
int history_schema_migrate(sqlite3 *db, struct error *err);
