/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables, and the upgrade of tables of earlier versions
 *
 * The upgrade is made of the steps of schema_steps.h.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;

/* The version of the tables, and the least version of a controller that may read
 * what is in them: an older one refuses the file. So raise it also, by a step that
 * only says why, when stored objects get a form that a controller of the former
 * version would misread, without an error, as something else.
 */
#define SCHEMA_VERSION 5

/* -ENOTSUP: of a later version, or not Kiln's. */
int schema_migrate(sqlite3 *db, struct error *err);

/* 0 if the file is a store of Kiln, of this or an earlier version; otherwise
 * -ENOTSUP.
 */
int schema_check(sqlite3 *db, struct error *err);
