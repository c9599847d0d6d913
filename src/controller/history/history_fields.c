/* SPDX-License-Identifier: Apache-2.0 */
/* A uid is 16 bytes, a digest 32, a time whole seconds: rows are small, so that a page of the
 * file has many, and most questions are bound by the pages that they read. A uid or digest of
 * another form is stored as its text, for a row must come back as it was written.
 *
 * Columns of version 1 are NOT NULL where each row has a value. SQLite cannot add such a
 * column to a table that has rows, so those of later versions are NULL where there is none,
 * also if that is the number 0.
 */
#include "controller/history/history_fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

_Static_assert(RECORD_MAX_FIELDS <= 64, "columns are the bits of a number");

static const struct field *
field_at(unsigned place)
{
    return &history_row_record.fields[place];
}

enum history_column_form
history_fields_form(unsigned place)
{
    const struct field *field = field_at(place);

    if (field->column->form != HISTORY_FORM_VALUE)
        return field->column->form;
    switch (field->type) {
    case FIELD_STRING:
        return HISTORY_FORM_TEXT;
    case FIELD_TIME:
        return HISTORY_FORM_TIME;
    case FIELD_BOOL:
        return HISTORY_FORM_FLAG;
    default:
        return (field->flags & FIELD_OPTIONAL) != 0 ? HISTORY_FORM_MEASURE : HISTORY_FORM_NUMBER;
    }
}

/* ---- The table ---- */

static const char *
type_of(enum history_column_form form)
{
    switch (form) {
    case HISTORY_FORM_ROW_ID:
        return "INTEGER PRIMARY KEY";
    case HISTORY_FORM_TEXT:
    case HISTORY_FORM_OBJECT:
    case HISTORY_FORM_NAME:
    case HISTORY_FORM_POD:
        return "TEXT";
    case HISTORY_FORM_UID:
    case HISTORY_FORM_POD_UID:
    case HISTORY_FORM_DIGEST:
        return "BLOB";
    default:
        return "INTEGER";
    }
}

static bool
has_always_a_value(enum history_column_form form)
{
    return form == HISTORY_FORM_NUMBER || form == HISTORY_FORM_WORD || form == HISTORY_FORM_TIME
           || form == HISTORY_FORM_FLAG || form == HISTORY_FORM_OBJECT
           || form == HISTORY_FORM_POD_UID || form == HISTORY_FORM_LOST;
}

void
history_fields_create(int version, struct strbuf *sql)
{
    const char *before = version == 1 ? "CREATE TABLE attempts (" : "";

    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const struct field_column *column = field_at(i)->column;
        const enum history_column_form form = history_fields_form(i);

        if (column->since != version)
            continue;
        if (version == 1)
            strbuf_printf(sql, "%s%s %s%s", before, column->name, type_of(form),
                          has_always_a_value(form) ? " NOT NULL" : "");
        else
            strbuf_printf(sql, "ALTER TABLE attempts ADD COLUMN %s %s;", column->name,
                          type_of(form));
        before = ", ";
    }
    strbuf_add_text(sql, version == 1 ? ");" : "");
}

/* ---- Values ---- */

static void
bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text == NULL)
        (void)sqlite3_bind_null(s, at);
    else
        (void)sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static int
nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads exactly that many bytes in lower case; dashes are skipped. */
static bool
read_hex(const char *text, unsigned char *out, size_t bytes)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        const int digit = nibble(*text);

        if (*text == '-')
            continue;
        if (digit < 0 || n >= bytes * 2)
            return false;
        if (n % 2 == 0)
            out[n / 2] = (unsigned char)(digit << 4);
        else
            out[n / 2] |= (unsigned char)digit;
        n++;
    }
    return n == bytes * 2;
}

/* Accepts only a form that is printed as the same text again. */
static bool
is_uuid(const char *uid)
{
    return strlen(uid) == 36 && uid[8] == '-' && uid[13] == '-' && uid[18] == '-' && uid[23] == '-';
}

void
history_fields_bind_uid(sqlite3_stmt *s, int at, const char *uid)
{
    unsigned char bytes[HISTORY_UID_BYTES];

    if (uid != NULL && is_uuid(uid) && read_hex(uid, bytes, sizeof(bytes)))
        (void)sqlite3_bind_blob(s, at, bytes, sizeof(bytes), SQLITE_TRANSIENT);
    else
        bind_text(s, at, uid);
}

static void
bind_digest(sqlite3_stmt *s, int at, const char *digest)
{
    unsigned char bytes[HISTORY_DIGEST_BYTES];

    if (digest != NULL && strncmp(digest, HISTORY_SHA256, strlen(HISTORY_SHA256)) == 0
        && strchr(digest, '-') == NULL
        && read_hex(digest + strlen(HISTORY_SHA256), bytes, sizeof(bytes)))
        (void)sqlite3_bind_blob(s, at, bytes, sizeof(bytes), SQLITE_TRANSIENT);
    else
        bind_text(s, at, digest);
}

static void
bind_pod(sqlite3_stmt *s, int at, const struct history_row *row)
{
    const size_t n = strlen(row->object);

    if (row->pod != NULL && row->pod_uid != NULL && strncmp(row->pod, row->object, n) == 0
        && row->pod[n] == '-')
        bind_text(s, at, row->pod + n);
    else
        bind_text(s, at, row->pod);
}

static void
bind_number(sqlite3_stmt *s, int at, int64_t number, bool may_be_null)
{
    if (number == 0 && may_be_null)
        (void)sqlite3_bind_null(s, at);
    else
        (void)sqlite3_bind_int64(s, at, number);
}

static void
bind_measure(sqlite3_stmt *s, int at, const int64_t *number)
{
    if (number == NULL)
        (void)sqlite3_bind_null(s, at);
    else
        (void)sqlite3_bind_int64(s, at, *number);
}

static const void *
member_of(const struct history_row *row, unsigned place)
{
    return (const char *)row + field_at(place)->offset;
}

static const char *
text_of(const struct history_row *row, unsigned place)
{
    return *(const char *const *)member_of(row, place);
}

static void
bind_value(sqlite3_stmt *s, const struct history_row *row, unsigned place, int64_t word)
{
    const bool may_be_null = field_at(place)->column->since > 1;
    const void *member = member_of(row, place);
    const int at = (int)place;

    switch (history_fields_form(place)) {
    case HISTORY_FORM_VALUE:
    case HISTORY_FORM_ROW_ID:
        break;
    case HISTORY_FORM_NUMBER:
        bind_number(s, at, *(const int64_t *)member, may_be_null);
        break;
    case HISTORY_FORM_MEASURE:
        bind_measure(s, at, *(const int64_t *const *)member);
        break;
    case HISTORY_FORM_TIME:
        bind_number(s, at, *(const int64_t *)member / SECOND_US, may_be_null);
        break;
    case HISTORY_FORM_FLAG:
        bind_number(s, at, *(const bool *)member, may_be_null);
        break;
    case HISTORY_FORM_LOST:
        bind_number(s, at, 0, may_be_null);
        break;
    case HISTORY_FORM_WORD:
        bind_number(s, at, word, may_be_null);
        break;
    case HISTORY_FORM_TEXT:
    case HISTORY_FORM_OBJECT:
        bind_text(s, at, text_of(row, place));
        break;
    case HISTORY_FORM_NAME:
        if (row->name != NULL && strcmp(row->name, row->object) == 0)
            (void)sqlite3_bind_null(s, at);
        else
            bind_text(s, at, row->name);
        break;
    case HISTORY_FORM_POD:
        bind_pod(s, at, row);
        break;
    case HISTORY_FORM_UID:
        history_fields_bind_uid(s, at, text_of(row, place));
        break;
    case HISTORY_FORM_POD_UID:
        history_fields_bind_uid(s, at, row->pod_uid != NULL ? row->pod_uid : row->job_uid);
        break;
    case HISTORY_FORM_DIGEST:
        bind_digest(s, at, text_of(row, place));
        break;
    }
}

/* ---- Writing ---- */

void
history_fields_insert(struct strbuf *sql)
{
    const char *between = "INSERT INTO attempts (";

    for (unsigned i = 0; i < history_row_record.n_fields; i++)
        if (history_fields_form(i) != HISTORY_FORM_ROW_ID) {
            strbuf_printf(sql, "%s%s", between, field_at(i)->column->name);
            between = ", ";
        }
    between = ") VALUES (";
    for (unsigned i = 0; i < history_row_record.n_fields; i++)
        if (history_fields_form(i) != HISTORY_FORM_ROW_ID) {
            strbuf_printf(sql, "%s?%u", between, i);
            between = ", ";
        }
    strbuf_add_text(sql, ") ON CONFLICT (key) DO NOTHING");
}

const char *
history_fields_word(const struct history_row *row, unsigned place)
{
    return field_at(place)->column->form == HISTORY_FORM_WORD ? text_of(row, place) : NULL;
}

void
history_fields_bind(sqlite3_stmt *s, const struct history_row *row, const int64_t *words)
{
    for (unsigned i = 0; i < history_row_record.n_fields; i++)
        bind_value(s, row, i, words[i]);
}

/* ---- Reading ---- */

uint64_t
history_fields_needed(uint64_t members)
{
    uint64_t columns = 0;

    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const enum history_column_form form = history_fields_form(i);

        if (members != 0 && (members & HISTORY_BIT(i)) == 0)
            continue;
        columns |= HISTORY_BIT(i);
        if (form == HISTORY_FORM_NAME || form == HISTORY_FORM_POD)
            columns |= HISTORY_BIT(HISTORY_AT_OBJECT);
        if (form == HISTORY_FORM_POD_UID)
            columns |= HISTORY_BIT(HISTORY_AT_POD);
    }
    return columns;
}

void
history_fields_select(uint64_t columns, struct strbuf *sql)
{
    for (unsigned i = 0; i < history_row_record.n_fields; i++)
        if ((columns & HISTORY_BIT(i)) != 0)
            strbuf_printf(sql, "%sa.%s", i > 0 ? ", " : "", field_at(i)->column->name);
        else
            strbuf_add_text(sql, i > 0 ? ", NULL" : "NULL");
}
