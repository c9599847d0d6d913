/* SPDX-License-Identifier: Apache-2.0 */
/* history_print.h - prints rows of a scan as the JSON of a page, separated by commas
 *
 * The members are those of history_row_record, in its order; a question names them as bits.
 * Each row is printed as record_encode and json_print would. If it is not the asker's own,
 * members that only the owner may read are left out.
 *
 * Thread:  that of the connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct history_connection;
struct history_printer;
struct history_scan;
struct strbuf;

struct history_page {
    int64_t shown, seen;
    int64_t end_s, id;             /* of the row that was compared last */
    int64_t shown_end_s, shown_id; /* of the row that was printed last */
    bool is_cut;                   /* there are more rows, or the time is over */
};

/* Life. The connection must stay as long. */
void history_printer_free(struct history_printer *printer);
struct history_printer *history_printer_new(struct history_connection *connection)
    OWNED_BY(history_printer_free);

/* Adds rows of the scan up to and including the one that ended at `last_end_s` with that id
 * (0: all rows), until `seen` is `most_seen`, the page has as many as are wanted, or the
 * connection's time ends. 1: there may be more rows; 0: there are none, or the page is cut.
 */
int history_print_page(struct history_printer *printer, struct history_scan *scan,
                       int64_t last_end_s, int64_t last_id, int64_t most_seen,
                       struct history_page *page, struct strbuf *out, struct error *err);
