/* SPDX-License-Identifier: Apache-2.0 */
/* history_connection.h - a connection that reads the file, with its statements and words
 *
 * Thread:  the one that reads with it; the writer and other connections work meanwhile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/base/macro.h"

struct error;
struct history_connection;

/* Life. -ENOENT: there is no file yet. */
void history_connection_close(struct history_connection *connection);
int history_connection_open(const char *path, struct history_connection **ret_connection,
                            struct error *err);

/* Until when the present answer may take; monotonic. */
void history_connection_set_end(struct history_connection *connection, int64_t ends_us);
int64_t history_connection_ends_us(const struct history_connection *connection);

/* Words. Find: the number of a word, -1 if the file does not have it. Word: the text of a
 * number, or NULL; printed: as a JSON string with quotes. Both are borrowed until the next
 * word is read.
 */
int64_t history_connection_find_word(struct history_connection *connection, const char *word);
const char *history_connection_word(struct history_connection *connection, int64_t id);
const char *history_connection_printed_word(struct history_connection *connection, int64_t id,
                                            size_t *ret_length);

/* A prepared statement of that text, for one user at a time; it may be released in any
 * state.
 */
int history_connection_prepare(struct history_connection *connection, const char *text,
                               sqlite3_stmt **ret_statement, struct error *err);
void history_connection_release(struct history_connection *connection, sqlite3_stmt *s);

/* For what else SQLite can tell. Close no statement and no connection of it. */
sqlite3 *history_connection_db(struct history_connection *connection);
