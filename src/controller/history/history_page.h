/* SPDX-License-Identifier: Apache-2.0 */
/* history_page.h - the rows of one page as JSON, with commas between
 *
 * As many as are wanted, or as there is time for. Where the reader has others
 * beside it (history_parts.h) and the page is a long one, they read parts of it;
 * the page is the same.
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
    int64_t end_s, id;             /* of the row that was looked at last */
    int64_t shown_end_s, shown_id; /* of the one that was shown last */
    bool is_cut; /* there are more rows, or its time is over */
};

/* In a transaction of the reader's, until its time ends. */
int history_page_print(struct history_reader *reader,
                       const struct history_question *question,
                       struct history_page *page,
                       struct strbuf *out,
                       struct error *err);

/* Rows of the scan up to the one that ended at `last_end_s` with that number (0:
 * all), and no more than bring `seen` to `most_seen`. 1: there may be more to
 * see; 0: there are none, or the page is cut.
 */
int history_page_add(struct history_reader *reader,
                     struct history_scan *scan,
                     const struct history_filter *filter,
                     int64_t last_end_s,
                     int64_t last_id,
                     int64_t most_seen,
                     struct history_page *page,
                     struct strbuf *out,
                     struct error *err);
