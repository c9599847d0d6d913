/* SPDX-License-Identifier: Apache-2.0 */
/* history_schema.h - the tables of history, and how those of earlier versions
 * become them
 *
 * They are steps of store/engine/schema_steps.h.
 *
 * Times are seconds since 1970. Words that repeat (users, nodes, reasons) are
 * numbers in `words`, which keeps a row small.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <sqlite3.h>

struct error;

#define HISTORY_SCHEMA_VERSION 6

/* -ENOTSUP: of a later version, or no history. */
int history_schema_migrate(sqlite3 *db, struct error *err);
