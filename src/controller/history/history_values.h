/* SPDX-License-Identifier: Apache-2.0 */
/* history_values.h - how values of a row are stored in the file
 *
 * A uid is 16 bytes, a digest 32, a time whole seconds; a uid or digest of
 * another form is stored as its text.
 *
 * Thread:  that of the statement.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

#define HISTORY_UID_BYTES    16
#define HISTORY_DIGEST_BYTES 32
#define HISTORY_SHA256       "sha256:" /* precedes a digest's text */

/* NULL is stored as NULL. The values are borrowed until the statement has run,
 * except uid and digest.
 */
void history_bind_text(sqlite3_stmt *s, int at, const char *text);
void history_bind_number(sqlite3_stmt *s, int at, const int64_t *number);
void history_bind_time(sqlite3_stmt *s, int at, int64_t us);
void history_bind_uid(sqlite3_stmt *s, int at, const char *uid);
void history_bind_digest(sqlite3_stmt *s, int at, const char *digest);
