/* SPDX-License-Identifier: Apache-2.0 */
/* history_fields.h - the table of attempts: its columns are the fields of
 * history_row_record
 *
 * Statements number their parameters and results by the places of the fields there, and
 * questions name members by them, so no list is kept in step with another by hand.
 *
 * Thread:  any; pure, except the binds: that of the statement.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#include "lib/api/job/history_row.h"

struct strbuf;

#define HISTORY_UID_BYTES    16
#define HISTORY_DIGEST_BYTES 32
#define HISTORY_SHA256       "sha256:" /* precedes a digest's text */

#define HISTORY_BIT(place) (UINT64_C(1) << (place))

/* The form of a field's column, never HISTORY_FORM_VALUE. */
enum history_column_form history_fields_form(unsigned place);

/* Adds the statements that make the table (version 1), or the columns that a later version
 * of the schema added; nothing if it added none.
 */
void history_fields_create(int version, struct strbuf *sql);

/* Writing: adds an INSERT that leaves a row alone whose key exists; the text of a word, or
 * NULL if the column is none; and the values for the INSERT, borrowed until it has run.
 * `words`: the numbers of words, by place.
 */
void history_fields_insert(struct strbuf *sql);
const char *history_fields_word(const struct history_row *row, unsigned place);
void history_fields_bind(sqlite3_stmt *s, const struct history_row *row, const int64_t *words);

/* Reading: the columns that these members need (0: all members), as bits; adds the list of
 * a SELECT from `attempts AS a`, with NULL for columns that are not needed.
 */
uint64_t history_fields_needed(uint64_t members);
void history_fields_select(uint64_t columns, struct strbuf *sql);

/* Binds a uid as its bytes, or as its text if it has another form. */
void history_fields_bind_uid(sqlite3_stmt *s, int at, const char *uid);
