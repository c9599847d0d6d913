/* SPDX-License-Identifier: Apache-2.0 */
/* history_sums.h - sums by day and by month, gathered while a batch is written
 *
 * Most rows of a batch share a few days, accounts, users and partitions, so one
 * write of a sum covers many rows.
 *
 * Thread:  the writer's.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_row;
struct history_sums;

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

/* The month of a day since 1970, as 202601; and the first day of a month. */
int64_t history_month_of_day(int64_t day);
int64_t history_first_day_of_month(int64_t month);
