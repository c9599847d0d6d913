/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables, and the upgrade of tables of earlier versions
 *
 * The upgrade is made of the steps of schema_steps.h.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <sqlite3.h>

#include "controller/store/engine/schema_version.h"
#include "lib/base/macro.h"

struct error;

/* -ENOTSUP: of a later version, or not Kiln's. */
int schema_migrate(sqlite3 *db, struct error *err);

/* 0 if the file is a store of Kiln, of this or an earlier version; otherwise
 * -ENOTSUP.
 */
int schema_check(sqlite3 *db, struct error *err);
