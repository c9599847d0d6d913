/* SPDX-License-Identifier: Apache-2.0 */
/* history_sums.h - sums by day and by month, gathered while a batch is written, and the
 * reports that are made of them
 *
 * Thread:  the writer's, except the report: that of its connection.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_connection;
struct history_question;
struct history_row;
struct history_sums;
struct strbuf;

/* Life. The statements belong to the connection: free the sums before it is
 * closed.
 */
void history_sums_free(struct history_sums *sums);
int history_sums_new(sqlite3 *db, struct history_sums **ret_sums, struct error *err);

/* Add: adds the usage of the row; account, user and partition are numbers of
 * words. Write writes all sums into the file, within the caller's transaction;
 * discard drops them.
 */
void history_sums_add(struct history_sums *sums, const struct history_row *row, int64_t account,
                      int64_t user, int64_t partition);
int history_sums_write(struct history_sums *sums, struct error *err);
void history_sums_discard(struct history_sums *sums);

/* Adds the answer to a question for sums, kind HistoryReport. -ETIMEDOUT: the connection's time
 * ended.
 */
int history_sums_print(struct history_connection *connection,
                       const struct history_question *question, struct strbuf *out,
                       struct error *err);
