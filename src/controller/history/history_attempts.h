/* SPDX-License-Identifier: Apache-2.0 */
/* history_attempts.h - attempts of jobs of several nodes, each of which gets a row of its own
 * when all of its pods have one
 *
 * Thread:  the writer's.
 */
#pragma once

#include <sqlite3.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct history_attempts;
struct history_row;

/* Life. The statements belong to the connection: free them before it is closed. */
void history_attempts_free(struct history_attempts *attempts);
int history_attempts_new(sqlite3 *db, struct history_attempts **ret_attempts, struct error *err);

/* The row of a pod was added, within the caller's transaction. 1: it was the last one, and
 * `ret_whole` is the row of the attempt, with texts in the arena or borrowed; 0: others are
 * missing.
 */
int history_attempts_add(struct history_attempts *attempts, struct arena *arena,
                         const struct history_row *row, struct history_row *ret_whole,
                         struct error *err);

/* The key of the row that the attempt of a pod's row has. */
const char *history_attempts_key(struct arena *arena, const struct history_row *row);
