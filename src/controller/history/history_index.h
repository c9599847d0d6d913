/* SPDX-License-Identifier: Apache-2.0 */
/* history_index.h - the optional indexes of history
 *
 * A new file gets them at once. A file of an earlier Kiln, which may have many
 * millions of rows, gets them after it was opened. They are not part of the
 * schema: a version that does not know them still maintains them.
 *
 * Thread:  of build, the writer's; of is_there, the connection's.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include <sqlite3.h>

struct error;

/* Indexes of attempts by (COLUMN, end_at), or by (COLUMN, state, end_at). */
#define HISTORY_INDEX_STATE         "by_state"
#define HISTORY_INDEX_PARTITION     "by_partition"
#define HISTORY_INDEX_NAME          "by_name"
#define HISTORY_INDEX_UID_STATE     "by_uid_state"
#define HISTORY_INDEX_ACCOUNT_STATE "by_account_state"

/* The schema's indexes that the last two replace. */
#define HISTORY_INDEX_UID     "by_uid"
#define HISTORY_INDEX_ACCOUNT "by_account"

/* The expression for the name of an attempt in the index. */
#define HISTORY_NAME_OF(table) "ifnull(" table "name, " table "object)"
#define HISTORY_NAME           HISTORY_NAME_OF("")

bool history_index_is_there(sqlite3 *db, const char *name);

/* Creates missing indexes, and drops those that they replace, each in one
 * transaction. With many rows this takes minutes, during which others can read
 * but not write; -ECANCELED soon after `stops` is set.
 */
int history_index_build(const char *path, atomic_bool *stops, struct error *err);
