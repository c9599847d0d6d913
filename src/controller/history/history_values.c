/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_values.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/arena.h"

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

static char *
write_hex(const unsigned char *bytes, size_t n, bool has_dashes, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        if (has_dashes && (i == 4 || i == 6 || i == 8 || i == 10))
            *out++ = '-';
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
    return out;
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

const char *
history_column_text(sqlite3_stmt *s, int at, struct arena *arena)
{
    const unsigned char *text = sqlite3_column_text(s, at);

    return text != NULL ? arena_strdup(arena, (const char *)text) : NULL;
}

const int64_t *
history_column_number(sqlite3_stmt *s, int at, struct arena *arena)
{
    const int64_t n = sqlite3_column_int64(s, at);

    return sqlite3_column_type(s, at) != SQLITE_NULL
               ? arena_memdup(arena, &n, sizeof(n))
               : NULL;
}

int64_t
history_column_time(sqlite3_stmt *s, int at)
{
    return sqlite3_column_int64(s, at) * SECOND_US;
}

static const char *
column_hex(sqlite3_stmt *s,
           int at,
           const char *prefix,
           size_t bytes,
           bool has_dashes,
           struct arena *arena)
{
    char hex[2 * DIGEST_BYTES + 5];

    if (sqlite3_column_type(s, at) != SQLITE_BLOB
        || sqlite3_column_bytes(s, at) != (int)bytes)
        return history_column_text(s, at, arena);
    (void)write_hex(sqlite3_column_blob(s, at), bytes, has_dashes, hex);
    return arena_printf(arena, "%s%s", prefix, hex);
}

const char *
history_column_uid(sqlite3_stmt *s, int at, struct arena *arena)
{
    return column_hex(s, at, "", UID_BYTES, true, arena);
}

const char *
history_column_digest(sqlite3_stmt *s, int at, struct arena *arena)
{
    return column_hex(s, at, SHA256, DIGEST_BYTES, false, arena);
}
