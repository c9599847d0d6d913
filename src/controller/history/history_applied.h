/* SPDX-License-Identifier: Apache-2.0 */
/* history_applied.h - which records of the shared log are in the file already
 *
 * That its row is there does not tell: a row that retention has removed is still
 * in the sums. So the numbers and keys of the last records are kept, and how far
 * the log was read, in the transaction that adds what the records say.
 *
 * Thread:  the writer's.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_applied;

/* Life. The statements belong to the connection: free it before that is closed. */
void history_applied_free(struct history_applied *applied);
int history_applied_new(sqlite3 *db, struct history_applied **ret_applied, struct error *err);

/* The number after which the log is to be read. It is some way before the last one
 * that was followed: a record may get a lower number than those read before it.
 * `last`: the highest that the log ever gave. If that is lower, the log is an
 * earlier one that was put back, and what was read of the rest is forgotten.
 */
int history_applied_meet(struct history_applied *applied, int64_t last, int64_t *ret_after,
                         struct error *err);

/* Has: 1 if the record was applied, 0 if not. Put notes that it was, and follow
 * that the log was read up to there; both within the caller's transaction.
 */
int history_applied_has(struct history_applied *applied, int64_t id, const char *key,
                        struct error *err);
int history_applied_put(struct history_applied *applied, int64_t id, const char *key,
                        struct error *err);
int history_applied_follow(struct history_applied *applied, int64_t id, struct error *err);
