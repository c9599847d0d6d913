/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_values.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US    INT64_C(1000000)
#define UID_BYTES    16
#define DIGEST_BYTES 32
#define SHA256       "sha256:"

void
history_bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text == NULL)
        (void)sqlite3_bind_null(s, at);
    else
        (void)sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

void
history_bind_number(sqlite3_stmt *s, int at, const int64_t *number)
{
    if (number == NULL)
        (void)sqlite3_bind_null(s, at);
    else
        (void)sqlite3_bind_int64(s, at, *number);
}

void
history_bind_time(sqlite3_stmt *s, int at, int64_t us)
{
    (void)sqlite3_bind_int64(s, at, us / SECOND_US);
}

static int
nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Of exactly so many bytes in lower case; dashes are skipped. */
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

/* Only what comes back as the same text. */
static bool
is_uuid(const char *uid)
{
    return strlen(uid) == 36 && uid[8] == '-' && uid[13] == '-'
           && uid[18] == '-' && uid[23] == '-';
}

void
history_bind_uid(sqlite3_stmt *s, int at, const char *uid)
{
    unsigned char bytes[UID_BYTES];

    if (uid != NULL && is_uuid(uid) && read_hex(uid, bytes, sizeof(bytes)))
        (void)sqlite3_bind_blob(s, at, bytes, sizeof(bytes), SQLITE_TRANSIENT);
    else
        history_bind_text(s, at, uid);
}

void
history_bind_digest(sqlite3_stmt *s, int at, const char *digest)
{
    unsigned char bytes[DIGEST_BYTES];

    if (digest != NULL && strncmp(digest, SHA256, strlen(SHA256)) == 0
        && strchr(digest, '-') == NULL
        && read_hex(digest + strlen(SHA256), bytes, sizeof(bytes)))
        (void)sqlite3_bind_blob(s, at, bytes, sizeof(bytes), SQLITE_TRANSIENT);
    else
        history_bind_text(s, at, digest);
}

/* Quoted, with dashes as a uid has them. */
static void
add_hex(const unsigned char *bytes,
        size_t n,
        const char *prefix,
        bool has_dashes,
        struct strbuf *out)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * DIGEST_BYTES + 16];
    char *at = text;

    *at++ = '"';
    at = stpcpy(at, prefix);
    for (size_t i = 0; i < n; i++) {
        if (has_dashes && (i == 4 || i == 6 || i == 8 || i == 10))
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at++ = '"';
    strbuf_add(out, text, (size_t)(at - text));
}

static bool
add_packed(sqlite3_stmt *s,
           int at,
           const char *prefix,
           size_t bytes,
           bool has_dashes,
           struct strbuf *out)
{
    const char *text;

    if (sqlite3_column_type(s, at) == SQLITE_BLOB
        && sqlite3_column_bytes(s, at) == (int)bytes) {
        add_hex(sqlite3_column_blob(s, at), bytes, prefix, has_dashes, out);
        return true;
    }
    text = (const char *)sqlite3_column_text(s, at);
    if (text == NULL || text[0] == '\0')
        return false;
    json_print_string(text, strlen(text), out);
    return true;
}

bool
history_add_uid(sqlite3_stmt *s, int at, struct strbuf *out)
{
    return add_packed(s, at, "", UID_BYTES, true, out);
}

bool
history_add_digest(sqlite3_stmt *s, int at, struct strbuf *out)
{
    return add_packed(s, at, SHA256, DIGEST_BYTES, false, out);
}
