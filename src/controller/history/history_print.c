/* SPDX-License-Identifier: Apache-2.0 */
/* A page of 5,000 rows is a megabyte of text. As a tree of JSON that record_encode makes and
 * json_print prints, it took longer than reading the rows from the file did. So rows are
 * printed from their columns, in the same form; test_history_reader compares both.
 */
#include "controller/history/history_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "controller/history/history_connection.h"
#include "controller/history/history_fields.h"
#include "controller/history/history_question.h"
#include "controller/history/history_scan.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define ROWS_BETWEEN_LOOKS 64 /* between looks at the clock */
#define SECOND_US          INT64_C(1000000)
#define DAY_S              86400
#define NUMBER_SIZE        24
#define AT_ONCE            32
#define WORD_MOST          128 /* longer words are copied with a check for room */

/* A member of a row, with the text before its value; put_short reads beyond that. */
#define HEAD_SIZE 64
struct printed_member {
    char head[HEAD_SIZE];
    size_t length;
    enum history_column_form form;
    bool is_private;
};

struct history_printer {
    struct history_connection *connection;
    struct printed_member members[RECORD_MAX_FIELDS];
    char time_text[TIME_TEXT_SIZE + 2]; /* the time printed last */
    int64_t time_day;                   /* its day */
};

void
history_printer_free(struct history_printer *p)
{
    free(p);
}

struct history_printer *
history_printer_new(struct history_connection *connection)
{
    struct history_printer *p = xnew(struct history_printer);

    p->connection = connection;
    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const struct field *field = &history_row_record.fields[i];
        struct printed_member *m = &p->members[i];

        m->length = (size_t)snprintf(m->head, sizeof(m->head), ",\"%s\":", field->name);
        m->form = history_fields_form(i);
        m->is_private = field->column->is_private;
    }
    return p;
}

/* ---- Values ---- */

/* A row without its texts is shorter than this, so it is written without checks
 * for room.
 */
#define ROOM 4096

struct row_text {
    struct strbuf *out;
    char *at; /* end of what is written, within the room */
};

static void
open_room(struct row_text *t)
{
    t->at = strbuf_extend(t->out, ROOM);
}

static void
close_room(struct row_text *t)
{
    strbuf_truncate(t->out, (size_t)(t->at - t->out->text));
}

static inline void
put(struct row_text *t, const char *bytes, size_t length)
{
    memcpy(t->at, bytes, length);
    t->at += length;
}

/* For sources of which AT_ONCE bytes can be read: a copy of constant size needs
 * no call and no loop.
 */
static inline void
put_short(struct row_text *t, const char *bytes, size_t length)
{
    memcpy(t->at, bytes, AT_ONCE);
    t->at += length;
}

static void
add_number(int64_t n, struct row_text *t)
{
    static const char pairs[] = "00010203040506070809"
                                "10111213141516171819"
                                "20212223242526272829"
                                "30313233343536373839"
                                "40414243444546474849"
                                "50515253545556575859"
                                "60616263646566676869"
                                "70717273747576777879"
                                "80818283848586878889"
                                "90919293949596979899";
    char digits[NUMBER_SIZE + AT_ONCE];
    char *at = digits + NUMBER_SIZE;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    for (; rest >= 10; rest /= 100) {
        at -= 2;
        memcpy(at, pairs + rest % 100 * 2, 2);
    }
    if (rest > 0 || at == digits + NUMBER_SIZE)
        *--at = (char)('0' + rest);
    if (n < 0)
        *--at = '-';
    put_short(t, at, (size_t)(digits + NUMBER_SIZE - at));
}

static void
add_text(const char *text, size_t length, struct row_text *t)
{
    close_room(t);
    json_print_string(text, length, t->out);
    open_room(t);
}

static void
put_two(char *at, int64_t n)
{
    at[0] = (char)('0' + n / 10);
    at[1] = (char)('0' + n % 10);
}

/* Most times of a row are on the same day as the one printed before. */
static void
add_time(struct history_printer *p, int64_t seconds, struct row_text *t)
{
    int64_t day = seconds / DAY_S, of_day = seconds % DAY_S;
    char *text = p->time_text + 1;

    if (of_day < 0)
        of_day += DAY_S, day--;
    if (p->time_text[0] == '\0' || day != p->time_day) {
        time_format(seconds * SECOND_US, false, text);
        p->time_text[0] = '"';
        text[strlen("2026-01-31T12:00:00Z")] = '"';
        p->time_day = day;
    }
    put_two(text + 11, of_day / 3600);
    put_two(text + 14, of_day / 60 % 60);
    put_two(text + 17, of_day % 60);
    put(t, p->time_text, strlen("\"2026-01-31T12:00:00Z\""));
}

static const char *
text_of(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

static bool
add_text_of(sqlite3_stmt *s, int column, struct row_text *t)
{
    const char *text = text_of(s, column);

    if (text == NULL || text[0] == '\0')
        return false;
    add_text(text, (size_t)sqlite3_column_bytes(s, column), t);
    return true;
}

static bool
add_word(struct history_printer *p, int64_t id, struct row_text *t)
{
    size_t length;
    const char *word = history_connection_printed_word(p->connection, id, &length);

    if (word == NULL)
        return false;
    if (length <= WORD_MOST)
        put(t, word, length);
    else {
        close_room(t);
        strbuf_add(t->out, word, length);
        open_room(t);
    }
    return true;
}

static bool
add_pod(sqlite3_stmt *s, struct row_text *t)
{
    char room[512];
    struct strbuf name;
    const char *pod = text_of(s, HISTORY_AT_POD);

    if (pod == NULL)
        return false;
    strbuf_init_in(&name, room, sizeof(room));
    if (pod[0] == '-')
        strbuf_add_text(&name, text_of(s, HISTORY_AT_OBJECT));
    strbuf_add_text(&name, pod);
    add_text(name.text, name.length, t);
    strbuf_fini(&name);
    return true;
}

/* With quotes; a uid with its dashes. */
static void
add_hex(const unsigned char *bytes, size_t n, const char *prefix, struct row_text *t)
{
    static const char digits[] = "0123456789abcdef";
    char *at = t->at;

    *at++ = '"';
    at = stpcpy(at, prefix);
    for (size_t i = 0; i < n; i++) {
        if (n == HISTORY_UID_BYTES && (i == 4 || i == 6 || i == 8 || i == 10))
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at++ = '"';
    t->at = at;
}

/* A value of another form is stored as its text. */
static bool
add_packed(sqlite3_stmt *s, int column, size_t bytes, const char *prefix, struct row_text *t)
{
    if (sqlite3_column_type(s, column) != SQLITE_BLOB
        || sqlite3_column_bytes(s, column) != (int)bytes)
        return add_text_of(s, column, t);
    add_hex(sqlite3_column_blob(s, column), bytes, prefix, t);
    return true;
}

/* The key of an attempt of several nodes is no pod's uid. */
static bool
is_of_attempt(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_TEXT
           && strstr(text_of(s, column), HISTORY_ATTEMPT_KEY) != NULL;
}

static bool
add_uid(sqlite3_stmt *s, int column, struct row_text *t)
{
    return add_packed(s, column, HISTORY_UID_BYTES, "", t);
}

/* Returns false if there is no value; then nothing was added. */
static bool
add_value(struct history_printer *p, sqlite3_stmt *s, unsigned place, enum history_column_form form,
          struct row_text *t)
{
    const int column = (int)place;
    int64_t n;

    switch (form) {
    case HISTORY_FORM_VALUE:
        break;
    case HISTORY_FORM_ROW_ID:
    case HISTORY_FORM_NUMBER:
        n = sqlite3_column_int64(s, column);
        if (n == 0)
            return false;
        add_number(n, t);
        return true;
    case HISTORY_FORM_MEASURE:
        n = sqlite3_column_int64(s, column);
        if (n == 0 && sqlite3_column_type(s, column) == SQLITE_NULL)
            return false;
        add_number(n, t);
        return true;
    case HISTORY_FORM_WORD:
        return add_word(p, sqlite3_column_int64(s, column), t);
    case HISTORY_FORM_TEXT:
    case HISTORY_FORM_OBJECT:
        return add_text_of(s, column, t);
    case HISTORY_FORM_TIME:
        n = sqlite3_column_int64(s, column);
        if (n == 0)
            return false;
        add_time(p, n, t);
        return true;
    case HISTORY_FORM_UID:
        return add_uid(s, column, t);
    case HISTORY_FORM_DIGEST:
        return add_packed(s, column, HISTORY_DIGEST_BYTES, HISTORY_SHA256, t);
    case HISTORY_FORM_NAME:
        return add_text_of(s, column, t) || add_text_of(s, HISTORY_AT_OBJECT, t);
    case HISTORY_FORM_POD:
        return add_pod(s, t);
    case HISTORY_FORM_POD_UID:
        return sqlite3_column_type(s, HISTORY_AT_POD) != SQLITE_NULL && !is_of_attempt(s, column)
               && add_uid(s, column, t);
    case HISTORY_FORM_FLAG:
    case HISTORY_FORM_LOST:
        if (sqlite3_column_int64(s, column) == 0)
            return false;
        put(t, "true", strlen("true"));
        return true;
    }
    return false;
}

static void
print_row(struct history_printer *p, sqlite3_stmt *s, uint64_t wanted, bool is_own,
          struct strbuf *out)
{
    struct row_text t = {.out = out};
    size_t first = 1; /* skips the comma before the first member */

    open_room(&t);
    *t.at++ = '{';
    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const struct printed_member *m = &p->members[i];

        if ((wanted != 0 && (wanted & HISTORY_BIT(i)) == 0) || (m->is_private && !is_own))
            continue;
        put_short(&t, m->head + first, m->length - first);
        if (add_value(p, s, i, m->form, &t))
            first = 0;
        else
            t.at -= m->length - first;
    }
    *t.at++ = '}';
    close_room(&t);
}

/* ---- A page ---- */

static bool
is_over(const struct history_printer *p)
{
    return clock_monotonic_us(&clock_system) >= history_connection_ends_us(p->connection);
}

/* When the page is full, looks for one more row that the asker may read, and
 * sets is_cut if there is one. Rows of others are skipped, since is_cut would
 * reveal their existence.
 */
int
history_print_page(struct history_printer *p, struct history_scan *scan, int64_t last_end_s,
                   int64_t last_id, int64_t most_seen, struct history_page *page,
                   struct strbuf *out, struct error *err)
{
    const struct history_question *q = history_scan_question(scan);
    sqlite3_stmt *s = NULL;
    int result;

    for (;;) {
        bool is_wanted;
        int64_t end_s, id;

        if (page->seen >= most_seen)
            return 1;
        result = history_scan_next(scan, &s, err);
        if (result < 1)
            return result;
        end_s = sqlite3_column_int64(s, HISTORY_AT_END);
        id = sqlite3_column_int64(s, HISTORY_AT_ID);
        if (last_id > 0 && (end_s > last_end_s || (end_s == last_end_s && id > last_id)))
            return 0;
        if (++page->seen % ROWS_BETWEEN_LOOKS == 0 && is_over(p)) {
            page->is_cut = true;
            return 0;
        }
        is_wanted = history_scan_wants(scan, s);
        if (page->shown == q->limit) {
            if (!is_wanted)
                continue;
            page->is_cut = true;
            return 0;
        }
        page->end_s = end_s;
        page->id = id;
        if (!is_wanted)
            continue;
        page->shown_end_s = end_s;
        page->shown_id = id;
        if (page->shown++ > 0)
            strbuf_add_char(out, ',');
        print_row(p, s, q->members, history_scan_is_own(scan, s), out);
    }
}
