/* SPDX-License-Identifier: Apache-2.0 */
/* history_scan.h - the rows that may match a question, in the order of their
 * end
 *
 * A scan merges one cursor for each value of an index that leads to such rows
 * (each state of a uid, each account of the rights, each name that matches a
 * pattern). A row of two cursors is returned once.
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_filter;
struct history_reader;
struct history_scan;

/* Life. `members`: those to be printed of the scan's rows. */
void history_scan_close(struct history_scan *scan);
int history_scan_open(struct history_reader *reader, const struct history_filter *filter,
                      uint64_t members, struct history_scan **ret_scan, struct error *err);

/* Whether it costs little to open the scan again at a later row. */
bool history_scan_is_cheap(const struct history_scan *scan);

/* 1: the next row, with the columns that are needed; 0: there is none. */
int history_scan_next(struct history_scan *scan, sqlite3_stmt **ret_row, struct error *err);
