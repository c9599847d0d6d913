/* SPDX-License-Identifier: Apache-2.0 */
/* history_parts.h - threads that read parts of a long page for a reader
 *
 * The reader walks over the rows' places in the indexes, which is a twentieth of
 * the work, and cuts the page into parts; each is read by whoever is free, with
 * a connection and a transaction of its own, and put behind the one before it. A
 * part is told by its first and last row, so rows that come or go meanwhile are
 * in one part or in none. No answer waits for a thread that gets no CPU: what
 * such a one has not read when the reader is done, the reader reads itself.
 *
 * The threads are for all users: one page is read at a time. They stand back for
 * every other thread of the controller.
 *
 * Thread:  the reader's; the threads are its own.
 * See:     history_round.h, what they have in common.
 */
#pragma once

#include "lib/base/macro.h"

struct error;
struct history_filter;
struct history_page;
struct history_parts;
struct history_reader;
struct strbuf;

/* Life. So many threads. */
void history_parts_free(struct history_parts *parts);
int history_parts_new(const char *path,
                      unsigned threads,
                      struct history_parts **ret_parts,
                      struct error *err);

/* Adds rows from the one that the page has seen last, read by so many threads
 * and the reader; and leaves to the reader
 * what is too little to share, or what a thread could not read.
 */
void history_parts_print(struct history_parts *parts,
                         unsigned helpers,
                         struct history_reader *reader,
                         const struct history_filter *filter,
                         struct history_page *page,
                         struct strbuf *out);
