/* SPDX-License-Identifier: Apache-2.0 */
/* The same few questions recur, from users who list their jobs again and again, so statements
 * stay prepared, and words are kept in memory, as text and as JSON: preparing takes longer
 * than a short answer, and each row of a page has eight words.
 */
#include "controller/history/history_connection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define WORDS_KEPT 100000
#define STATEMENTS 32

struct statement {
    char *text;
    sqlite3_stmt *s;
    bool is_in_use;
};

/* The text, and the text as a JSON string with quotes. */
struct word {
    char *text, *printed;
    size_t length; /* of `printed` */
};

struct history_connection {
    sqlite3 *db;
    sqlite3_stmt *word, *find;
    struct word *words; /* cache by number, read on demand */
    size_t n_words;
    struct word other_word; /* the last word whose number is beyond `words` */
    struct statement statements[STATEMENTS];
    unsigned next_statement; /* the next one to be replaced */
    int64_t ends_us;
};

/* ---- Life ---- */

static void
free_word(struct word *word)
{
    free(word->text);
    free(word->printed);
}

void
history_connection_close(struct history_connection *c)
{
    if (c == NULL)
        return;
    (void)sqlite3_finalize(c->word);
    (void)sqlite3_finalize(c->find);
    for (size_t i = 0; i < STATEMENTS; i++) {
        (void)sqlite3_finalize(c->statements[i].s);
        free(c->statements[i].text);
    }
    for (size_t i = 0; i < c->n_words; i++)
        free_word(&c->words[i]);
    free(c->words);
    free_word(&c->other_word);
    sql_close(c->db);
    free(c);
}

int
history_connection_open(const char *path, struct history_connection **ret_connection,
                        struct error *err)
{
    struct history_connection *c;
    int r;

    if (access(path, R_OK) < 0)
        return error_set(err, -errno, "there is no history yet");
    c = xnew(struct history_connection);
    r = sql_open(path, &c->db, err);
    if (r == 0)
        r = sql_exec(c->db,
                     "PRAGMA query_only = ON;"
                     "PRAGMA trusted_schema = OFF;"
                     "PRAGMA busy_timeout = 2000;"
                     "PRAGMA temp_store = MEMORY;"
                     "PRAGMA mmap_size = 8589934592;"
                     "PRAGMA cache_size = -32768;",
                     err);
    if (r == 0)
        r = sql_prepare(c->db, "SELECT word FROM words WHERE id = ?1", &c->word, err);
    if (r == 0)
        r = sql_prepare(c->db, "SELECT id FROM words WHERE word = ?1", &c->find, err);
    if (r < 0) {
        history_connection_close(c);
        return r;
    }
    *ret_connection = c;
    return 0;
}

void
history_connection_set_end(struct history_connection *c, int64_t ends_us)
{
    c->ends_us = ends_us;
}

int64_t
history_connection_ends_us(const struct history_connection *c)
{
    return c->ends_us;
}

sqlite3 *
history_connection_db(struct history_connection *c)
{
    return c->db;
}

/* ---- Words ---- */

int64_t
history_connection_find_word(struct history_connection *c, const char *word)
{
    int64_t id = -1;

    (void)sqlite3_bind_text(c->find, 1, word, -1, SQLITE_STATIC);
    if (sqlite3_step(c->find) == SQLITE_ROW)
        id = sqlite3_column_int64(c->find, 0);
    (void)sqlite3_reset(c->find);
    return id;
}

/* The cache needs no limit but WORDS_KEPT: words never change, and are few. */
static struct word *
place_of(struct history_connection *c, int64_t id)
{
    if (id >= WORDS_KEPT) {
        free_word(&c->other_word);
        c->other_word = (struct word){0};
        return &c->other_word;
    }
    if ((size_t)id >= c->n_words) {
        const size_t n = (size_t)id * 2 + 64;

        c->words = xrealloc_array(c->words, n, sizeof(*c->words));
        memset(c->words + c->n_words, 0, (n - c->n_words) * sizeof(*c->words));
        c->n_words = n;
    }
    return &c->words[id];
}

static const struct word *
read_word(struct history_connection *c, int64_t id)
{
    struct word *word = NULL;

    (void)sqlite3_bind_int64(c->word, 1, id);
    if (sqlite3_step(c->word) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(c->word, 0);
        struct strbuf printed = STRBUF_INIT;

        word = place_of(c, id);
        word->text = xstrdup(text);
        json_print_string(text, strlen(text), &printed);
        word->length = printed.length;
        word->printed = strbuf_take(&printed);
    }
    (void)sqlite3_reset(c->word);
    return word;
}

static inline const struct word *
find_word(struct history_connection *c, int64_t id)
{
    if (id <= 0)
        return NULL;
    if ((size_t)id < c->n_words && c->words[id].text != NULL)
        return &c->words[id];
    return read_word(c, id);
}

const char *
history_connection_word(struct history_connection *c, int64_t id)
{
    const struct word *word = find_word(c, id);

    return word != NULL ? word->text : NULL;
}

const char *
history_connection_printed_word(struct history_connection *c, int64_t id, size_t *ret_length)
{
    const struct word *word = find_word(c, id);

    if (word == NULL)
        return NULL;
    *ret_length = word->length;
    return word->printed;
}

/* ---- Statements ---- */

int
history_connection_prepare(struct history_connection *c, const char *text,
                           sqlite3_stmt **ret_statement, struct error *err)
{
    struct statement *place = NULL;

    for (unsigned i = 0; i < STATEMENTS; i++) {
        struct statement *known = &c->statements[i];

        if (!known->is_in_use && known->s != NULL && strcmp(known->text, text) == 0) {
            known->is_in_use = true;
            *ret_statement = known->s;
            return 0;
        }
    }
    for (unsigned i = 0; place == NULL && i < STATEMENTS; i++) {
        const unsigned at = c->next_statement++ % STATEMENTS;

        if (!c->statements[at].is_in_use)
            place = &c->statements[at];
    }
    if (place == NULL)
        return sql_prepare(c->db, text, ret_statement, err);
    (void)sqlite3_finalize(place->s);
    free(place->text);
    *place = (struct statement){0};
    if (sql_prepare(c->db, text, &place->s, err) < 0)
        return err != NULL ? err->code : -EIO;
    place->text = xstrdup(text);
    place->is_in_use = true;
    *ret_statement = place->s;
    return 0;
}

void
history_connection_release(struct history_connection *c, sqlite3_stmt *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < STATEMENTS; i++)
        if (c->statements[i].s == s) {
            (void)sqlite3_reset(s);
            (void)sqlite3_clear_bindings(s);
            c->statements[i].is_in_use = false;
            return;
        }
    (void)sqlite3_finalize(s);
}
