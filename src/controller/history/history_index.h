/* SPDX-License-Identifier: Apache-2.0 */
/* history_index.h - the indexes of history that questions do without
 *
 * A new file gets them at once; one of an earlier Kiln, whose rows may be many
 * millions, when it is open already. They are no part of the schema: who does
 * not know them keeps them nevertheless.
 *
 * Thread:  of build, the writer's; of is_there, the connection's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include <sqlite3.h>

struct error;

/* Attempts by (COLUMN, end_at), or by (COLUMN, state, end_at). */
#define HISTORY_INDEX_STATE         "by_state"
#define HISTORY_INDEX_PARTITION     "by_partition"
#define HISTORY_INDEX_NAME          "by_name"
#define HISTORY_INDEX_UID_STATE     "by_uid_state"
#define HISTORY_INDEX_ACCOUNT_STATE "by_account_state"

/* Those of the schema that the last two take the place of. */
#define HISTORY_INDEX_UID     "by_uid"
#define HISTORY_INDEX_ACCOUNT "by_account"

/* The name of an attempt, as the index has it. */
#define HISTORY_NAME_OF(table) "ifnull(" table "name, " table "object)"
#define HISTORY_NAME           HISTORY_NAME_OF("")

bool history_index_is_there(sqlite3 *db, const char *name);

/* Makes those that are missing, and drops what they replace, each in one
 * transaction. Takes minutes with many
 * rows, in which others read and nobody writes; -ECANCELED soon after `stops`.
 */
int
history_index_build(const char *path, atomic_bool *stops, struct error *err);
