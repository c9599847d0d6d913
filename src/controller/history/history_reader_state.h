/* SPDX-License-Identifier: Apache-2.0 */
/* history_reader_state.h - declarations shared by the reader's files
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/api/job/history_row.h"
#include "lib/json/record.h"

struct error;
struct history_parts;

/* Statements stay prepared, since the same few texts recur. */
#define HISTORY_STATEMENTS 32

struct history_statement {
    char *text;
    sqlite3_stmt *s;
    bool is_in_use;
};

/* The text, and the text as a JSON string with quotes. */
struct history_word {
    char *text, *printed;
    size_t length; /* of `printed` */
};

/* A member of a row, with the text before its value; put_short reads beyond that. */
#define HISTORY_HEAD_SIZE 64
struct history_member {
    char head[HISTORY_HEAD_SIZE];
    size_t length;
    enum history_column_form form;
    bool is_private;
};

struct history_reader {
    sqlite3 *db;
    struct history_parts *parts; /* helper threads for long pages; NULL: none */
    unsigned helpers;            /* how many of them may be used now */
    sqlite3_stmt *word, *find;
    struct history_word *words; /* cache by number, read on demand */
    size_t n_words;
    struct history_word other_word; /* the last word whose number is beyond
                                     * `words` */
    struct history_statement statements[HISTORY_STATEMENTS];
    unsigned next_statement;            /* the next one to be replaced */
    int64_t ends_us;                    /* when the question's time is over; monotonic */
    char time_text[TIME_TEXT_SIZE + 2]; /* the time printed last */
    int64_t time_day;                   /* its day */
    struct history_member members[RECORD_MAX_FIELDS];
};

/* Find: the number of a word, -1 if the file does not have it. Word: the text
 * of a number, or NULL; borrowed until the next word is read.
 */
int64_t history_reader_find_word(struct history_reader *reader, const char *word);
const char *history_reader_word(struct history_reader *reader, int64_t id);
const char *history_reader_printed_word(struct history_reader *reader, int64_t id,
                                        size_t *ret_length);

/* A prepared statement of that text, for one user at a time; it may be released
 * in any state.
 */
int history_reader_prepare(struct history_reader *reader, const char *text,
                           sqlite3_stmt **ret_statement, struct error *err);
void history_reader_release(struct history_reader *reader, sqlite3_stmt *s);
