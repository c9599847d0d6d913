/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_values.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)

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
history_bind_uid(sqlite3_stmt *s, int at, const char *uid)
{
    unsigned char bytes[HISTORY_UID_BYTES];

    if (uid != NULL && is_uuid(uid) && read_hex(uid, bytes, sizeof(bytes)))
        (void)sqlite3_bind_blob(s, at, bytes, sizeof(bytes), SQLITE_TRANSIENT);
    else
        history_bind_text(s, at, uid);
}

void
history_bind_digest(sqlite3_stmt *s, int at, const char *digest)
{
    unsigned char bytes[HISTORY_DIGEST_BYTES];

    if (digest != NULL && strncmp(digest, HISTORY_SHA256, strlen(HISTORY_SHA256)) == 0
        && strchr(digest, '-') == NULL
        && read_hex(digest + strlen(HISTORY_SHA256), bytes, sizeof(bytes)))
        (void)sqlite3_bind_blob(s, at, bytes, sizeof(bytes), SQLITE_TRANSIENT);
    else
        history_bind_text(s, at, digest);
}
