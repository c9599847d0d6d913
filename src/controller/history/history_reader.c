/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/history/history_page.h"
#include "controller/history/history_parts.h"
#include "controller/history/history_print.h"
#include "controller/history/history_reader_state.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define WORDS_KEPT 100000

/* ---- Life ---- */

static void
free_word(struct history_word *word)
{
    free(word->text);
    free(word->printed);
}

void
history_reader_close(struct history_reader *r)
{
    if (r == NULL)
        return;
    history_parts_free(r->parts);
    (void)sqlite3_finalize(r->word);
    (void)sqlite3_finalize(r->find);
    for (size_t i = 0; i < HISTORY_STATEMENTS; i++) {
        (void)sqlite3_finalize(r->statements[i].s);
        free(r->statements[i].text);
    }
    for (size_t i = 0; i < r->n_words; i++)
        free_word(&r->words[i]);
    free(r->words);
    free_word(&r->other_word);
    sql_close(r->db);
    free(r);
}

int
history_reader_open(const char *path, unsigned helpers, struct history_reader **ret_reader,
                    struct error *err)
{
    struct history_reader *reader;
    int r;

    if (access(path, R_OK) < 0)
        return error_set(err, -errno, "there is no history yet");
    reader = xnew(struct history_reader);
    history_print_init(reader);
    r = sql_open(path, &reader->db, err);
    if (r == 0)
        r = sql_exec(reader->db,
                     "PRAGMA query_only = ON;"
                     "PRAGMA trusted_schema = OFF;"
                     "PRAGMA busy_timeout = 2000;"
                     "PRAGMA temp_store = MEMORY;"
                     "PRAGMA mmap_size = 8589934592;"
                     "PRAGMA cache_size = -32768;",
                     err);
    if (r == 0)
        r = sql_prepare(reader->db, "SELECT word FROM words WHERE id = ?1", &reader->word, err);
    if (r == 0)
        r = sql_prepare(reader->db, "SELECT id FROM words WHERE word = ?1", &reader->find, err);
    if (r == 0 && helpers > 0)
        r = history_parts_new(path, helpers, &reader->parts, err);
    if (r < 0) {
        history_reader_close(reader);
        return r;
    }
    reader->helpers = helpers;
    *ret_reader = reader;
    return 0;
}

void
history_reader_use_helpers(struct history_reader *r, unsigned helpers)
{
    r->helpers = r->parts != NULL ? helpers : 0;
}

/* ---- Words ---- */

int64_t
history_reader_find_word(struct history_reader *r, const char *word)
{
    int64_t id = -1;

    (void)sqlite3_bind_text(r->find, 1, word, -1, SQLITE_STATIC);
    if (sqlite3_step(r->find) == SQLITE_ROW)
        id = sqlite3_column_int64(r->find, 0);
    (void)sqlite3_reset(r->find);
    return id;
}

/* The cache needs no limit but WORDS_KEPT: words never change, and are few. */
static struct history_word *
place_of(struct history_reader *r, int64_t id)
{
    if (id >= WORDS_KEPT) {
        free_word(&r->other_word);
        r->other_word = (struct history_word){0};
        return &r->other_word;
    }
    if ((size_t)id >= r->n_words) {
        const size_t n = (size_t)id * 2 + 64;

        r->words = xrealloc_array(r->words, n, sizeof(*r->words));
        memset(r->words + r->n_words, 0, (n - r->n_words) * sizeof(*r->words));
        r->n_words = n;
    }
    return &r->words[id];
}

static const struct history_word *
read_word(struct history_reader *r, int64_t id)
{
    struct history_word *word = NULL;

    (void)sqlite3_bind_int64(r->word, 1, id);
    if (sqlite3_step(r->word) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(r->word, 0);
        struct strbuf printed = STRBUF_INIT;

        word = place_of(r, id);
        word->text = xstrdup(text);
        json_print_string(text, strlen(text), &printed);
        word->length = printed.length;
        word->printed = strbuf_take(&printed);
    }
    (void)sqlite3_reset(r->word);
    return word;
}

static inline const struct history_word *
find_word(struct history_reader *r, int64_t id)
{
    if (id <= 0)
        return NULL;
    if ((size_t)id < r->n_words && r->words[id].text != NULL)
        return &r->words[id];
    return read_word(r, id);
}

const char *
history_reader_word(struct history_reader *r, int64_t id)
{
    const struct history_word *word = find_word(r, id);

    return word != NULL ? word->text : NULL;
}

const char *
history_reader_printed_word(struct history_reader *r, int64_t id, size_t *ret_length)
{
    const struct history_word *word = find_word(r, id);

    if (word == NULL)
        return NULL;
    *ret_length = word->length;
    return word->printed;
}

/* ---- Statements ---- */

int
history_reader_prepare(struct history_reader *r, const char *text, sqlite3_stmt **ret_statement,
                       struct error *err)
{
    struct history_statement *place = NULL;

    for (unsigned i = 0; i < HISTORY_STATEMENTS; i++) {
        struct history_statement *known = &r->statements[i];

        if (!known->is_in_use && known->s != NULL && strcmp(known->text, text) == 0) {
            known->is_in_use = true;
            *ret_statement = known->s;
            return 0;
        }
    }
    for (unsigned i = 0; place == NULL && i < HISTORY_STATEMENTS; i++) {
        const unsigned at = r->next_statement++ % HISTORY_STATEMENTS;

        if (!r->statements[at].is_in_use)
            place = &r->statements[at];
    }
    if (place == NULL)
        return sql_prepare(r->db, text, ret_statement, err);
    (void)sqlite3_finalize(place->s);
    free(place->text);
    *place = (struct history_statement){0};
    if (sql_prepare(r->db, text, &place->s, err) < 0)
        return err != NULL ? err->code : -EIO;
    place->text = xstrdup(text);
    place->is_in_use = true;
    *ret_statement = place->s;
    return 0;
}

void
history_reader_release(struct history_reader *r, sqlite3_stmt *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < HISTORY_STATEMENTS; i++)
        if (r->statements[i].s == s) {
            (void)sqlite3_reset(s);
            (void)sqlite3_clear_bindings(s);
            r->statements[i].is_in_use = false;
            return;
        }
    (void)sqlite3_finalize(s);
}

/* ---- Rows ---- */

/* One transaction, so that no index is dropped while it is used. */
int
history_reader_list(struct history_reader *r, const struct history_question *q, int64_t most_us,
                    struct strbuf *out, struct error *err)
{
    struct history_page page = {0};
    int result = sql_exec(r->db, "BEGIN", err);

    if (result < 0)
        return result;
    r->ends_us = clock_monotonic_us(&clock_system) + most_us;
    strbuf_add_text(out, "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":"
                         "\"HistoryList\",\"items\":[");
    result = history_page_print(r, q, &page, out, err);
    (void)sql_exec(r->db, "COMMIT", NULL);
    strbuf_add_char(out, ']');
    if (page.is_cut)
        strbuf_printf(out, ",\"metadata\":{\"continue\":\"%" PRId64 ".%" PRId64 "\"}", page.end_s,
                      page.id);
    strbuf_add_char(out, '}');
    return result;
}
