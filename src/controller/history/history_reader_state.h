/* SPDX-License-Identifier: Apache-2.0 */
/* history_reader_state.h - what the files of the reader share
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

struct arena;

struct history_reader {
    sqlite3 *db;
    sqlite3_stmt *word, *find;
    char **words; /* by their number, as far as they were asked for */
    size_t n_words;
    int64_t ends_us; /* when the question has had its time; monotonic */
};

/* The number of a word, -1 when it stands nowhere; and back: it lives as long as
 * the reader, or in the arena.
 */
int64_t history_reader_find_word(struct history_reader *reader,
                                 const char *word);
const char *history_reader_word(struct history_reader *reader,
                                int64_t id,
                                struct arena *arena);
