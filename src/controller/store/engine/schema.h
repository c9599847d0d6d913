/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables, and how those of earlier versions become them
 *
 * They are steps of schema_steps.h.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;

#define SCHEMA_VERSION 3

/* -ENOTSUP: of a later version, or not Kiln's. */
int schema_migrate(sqlite3 *db, struct error *err);

/* The same, up to a version only. For tests of the steps. */
int schema_migrate_to(sqlite3 *db, int version, struct error *err);

/* A store of ours, of this or an earlier version: 0, else -ENOTSUP. */
int schema_check(sqlite3 *db, struct error *err);
