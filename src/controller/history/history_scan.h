/* SPDX-License-Identifier: Apache-2.0 */
/* history_scan.h - the rows that may match a question, in the order of their end
 *
 * A scan merges one cursor for each value of an index that leads to such rows (each state of
 * a uid, each account of the rights, each name that matches a pattern). A row of two cursors
 * is returned once. The filter has the conditions of the question as numbers of the file, as
 * they are at the time; several scans may use it.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_connection;
struct history_filter;
struct history_question;
struct history_scan;

/* The question must stay as long as the filter. */
void history_filter_free(struct history_filter *filter);
struct history_filter *history_filter_new(struct history_connection *connection,
                                          const struct history_question *question)
    OWNED_BY(history_filter_free);
DEFINE_CLEANUP(struct history_filter, history_filter_free)
const struct history_question *history_filter_question(const struct history_filter *filter);

/* A scan reads of a row its place in the order, or all that its comparison and its members
 * need.
 */
enum history_scan_columns { HISTORY_SCAN_PLACES, HISTORY_SCAN_ROWS };

/* Life. The scan begins after the row with that end and id (0: with the first). */
void history_scan_close(struct history_scan *scan);
int history_scan_open(struct history_connection *connection, const struct history_filter *filter,
                      enum history_scan_columns what, int64_t after_end_s, int64_t after_id,
                      struct history_scan **ret_scan, struct error *err);

const struct history_question *history_scan_question(const struct history_scan *scan);

/* Whether it costs little to open the scan again at a later row. */
bool history_scan_is_cheap(const struct history_scan *scan);

/* 1: the next row, with the columns that are needed; 0: there is none. */
int history_scan_next(struct history_scan *scan, sqlite3_stmt **ret_row, struct error *err);

/* Wants: whether the row matches and the asker may read it. Is_own: whether the asker may
 * read all of it.
 */
bool history_scan_wants(const struct history_scan *scan, sqlite3_stmt *row);
bool history_scan_is_own(const struct history_scan *scan, sqlite3_stmt *row);
