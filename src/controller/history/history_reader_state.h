/* SPDX-License-Identifier: Apache-2.0 */
/* history_reader_state.h - what the files of the reader share
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "lib/json/record.h"

struct error;
struct history_parts;

/* Statements stay prepared: few texts come again and again. */
#define HISTORY_STATEMENTS 32

struct history_statement {
    char *text;
    sqlite3_stmt *s;
    bool is_in_use;
};

/* As it is, and as JSON with its quotes. */
struct history_word {
    char *text, *printed;
    size_t length; /* of the printed one */
};

struct history_reader {
    sqlite3 *db;
    struct history_parts *parts; /* threads for long pages; NULL: none */
    unsigned helpers;            /* of these, that may be used now */
    sqlite3_stmt *word, *find;
    struct history_word *words; /* by their number, as far as they were asked
                                 * for */
    size_t n_words;
    struct history_word other_word; /* the last beyond those */
    struct history_statement statements[HISTORY_STATEMENTS];
    unsigned next_statement; /* to be replaced */
    int64_t ends_us;         /* when the question has had its time; monotonic */
    char time_text[TIME_TEXT_SIZE + 2]; /* the last time printed, */
    int64_t time_day;                   /* and its day */
};

/* The number of a word, -1 when it stands nowhere; and back, or NULL: borrowed
 * until the next is asked for.
 */
int64_t history_reader_find_word(struct history_reader *reader,
                                 const char *word);
const char *history_reader_word(struct history_reader *reader, int64_t id);
const char *history_reader_printed_word(struct history_reader *reader,
                                        int64_t id,
                                        size_t *ret_length);

/* A statement of that text, for one at a time; give it back in any state. */
int history_reader_prepare(struct history_reader *reader,
                           const char *text,
                           sqlite3_stmt **ret_statement,
                           struct error *err);
void history_reader_release(struct history_reader *reader, sqlite3_stmt *s);
