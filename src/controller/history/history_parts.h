/* SPDX-License-Identifier: Apache-2.0 */
/* history_parts.h - threads that read parts of a long page for a reader
 *
 * The reader visits the rows in the indexes only, which is a twentieth of the
 * work, and cuts the page into parts. Each part is read by any free thread,
 * with its own connection and transaction, and appended to the part before it.
 * A part is given by its first and last row, so rows that are added or deleted
 * meanwhile are in one part or in none. No answer waits for a thread that gets
 * no CPU: parts that such a thread has not read when the reader is done are
 * read by the reader itself.
 *
 * The threads serve all users: one page is read at a time. They run at a lower
 * priority than all other threads of the controller.
 *
 * Thread:  the reader's; the threads are its own.
 * See:     history_round.h, the state that they share.
 */
#pragma once

#include "lib/base/macro.h"

struct error;
struct history_connection;
struct history_filter;
struct history_page;
struct history_parts;
struct history_printer;
struct strbuf;

/* Life. `threads`: how many to start. The connection and the printer are the reader's, and
 * must stay as long.
 */
void history_parts_free(struct history_parts *parts);
int history_parts_new(const char *path, unsigned threads, struct history_connection *connection,
                      struct history_printer *printer, struct history_parts **ret_parts,
                      struct error *err);

/* Adds rows after the last one that the page has seen, read by up to `helpers` threads and
 * the reader. Leaves rows to the caller that are too few to share, or that a thread could not
 * read.
 */
void history_parts_print(struct history_parts *parts, unsigned helpers,
                         const struct history_filter *filter, struct history_page *page,
                         struct strbuf *out);
