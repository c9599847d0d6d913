/* SPDX-License-Identifier: Apache-2.0 */
/* history_print.h - prints a row of the file as JSON, from its columns
 *
 * The members are those of history_row_record, in its order; a question names
 * them as bits. A column that no member needs is not read.
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct history_reader;
struct strbuf;

/* Once, before the reader prints a row. */
void history_print_init(struct history_reader *reader);

/* Adds the statement's row as an object, as record_encode and json_print would.
 * If the row is not the asker's own, members that only the owner may read are
 * left out.
 */
void history_print_row(struct history_reader *reader, sqlite3_stmt *s, uint64_t members,
                       bool is_own, struct strbuf *out);
