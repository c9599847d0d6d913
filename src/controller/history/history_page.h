/* SPDX-License-Identifier: Apache-2.0 */
/* history_page.h - the rows of one page as JSON, separated by commas
 *
 * A page has as many rows as are wanted, or as there is time for. If the reader
 * has helper threads (history_parts.h) and the page is long, they read parts of
 * it; the result is the same.
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct history_filter;
struct history_question;
struct history_reader;
struct history_scan;
struct strbuf;

struct history_page {
    int64_t shown, seen;
    int64_t end_s, id;             /* of the row that was compared last */
    int64_t shown_end_s, shown_id; /* of the row that was printed last */
    bool is_cut;                   /* there are more rows, or the time is over */
};

/* Runs in a transaction of the reader, until the reader's time ends. */
int history_page_print(struct history_reader *reader, const struct history_question *question,
                       struct history_page *page, struct strbuf *out, struct error *err);

/* Adds rows of the scan up to and including the one that ended at `last_end_s`
 * with that id (0: all rows), until `seen` is `most_seen`. 1: there may be more
 * rows; 0: there are none, or the page is cut.
 */
int history_page_add(struct history_reader *reader, struct history_scan *scan,
                     const struct history_filter *filter, int64_t last_end_s, int64_t last_id,
                     int64_t most_seen, struct history_page *page, struct strbuf *out,
                     struct error *err);
