/* SPDX-License-Identifier: Apache-2.0 */
/* A page is read in one transaction, so that no index is dropped while it is used. The reader
 * begins alone: most pages are short, and waking a helper would take longer than they do. Only
 * what is left of a long page is shared, and if the scan is cheap to open again, for each part
 * opens it.
 */
#include "controller/history/history_reader.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "controller/history/history_connection.h"
#include "controller/history/history_parts.h"
#include "controller/history/history_print.h"
#include "controller/history/history_question.h"
#include "controller/history/history_scan.h"
#include "controller/history/history_steps.h"
#include "controller/history/history_sums.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

/* Most questions have fewer rows than these; no helper is woken for them. */
#define ROWS_ALONE 256

struct history_reader {
    struct history_connection *connection;
    struct history_printer *printer;
    struct history_parts *parts; /* helper threads for long pages; NULL: none */
    unsigned helpers;            /* how many of them may be used now */
};

/* ---- Life ---- */

void
history_reader_close(struct history_reader *r)
{
    if (r == NULL)
        return;
    history_parts_free(r->parts);
    history_printer_free(r->printer);
    history_connection_close(r->connection);
    free(r);
}

int
history_reader_open(const char *path, unsigned helpers, struct history_reader **ret_reader,
                    struct error *err)
{
    struct history_reader *reader = xnew(struct history_reader);
    int r = history_connection_open(path, &reader->connection, err);

    if (r == 0)
        reader->printer = history_printer_new(reader->connection);
    if (r == 0 && helpers > 0)
        r = history_parts_new(path, helpers, reader->connection, reader->printer, &reader->parts,
                              err);
    if (r < 0) {
        history_reader_close(reader);
        return r;
    }
    reader->helpers = helpers;
    *ret_reader = reader;
    return 0;
}

void
history_reader_use_helpers(struct history_reader *r, unsigned helpers)
{
    r->helpers = r->parts != NULL ? helpers : 0;
}

/* ---- Rows ---- */

/* Adds the rest of the page, from the row that was compared last. */
static int
add_rest(struct history_reader *r, const struct history_filter *filter, struct history_page *page,
         struct strbuf *out, struct error *err)
{
    struct history_scan *scan = NULL;
    int result = history_scan_open(r->connection, filter, HISTORY_SCAN_ROWS, page->end_s, page->id,
                                   &scan, err);

    if (result == 0)
        result = history_print_page(r->printer, scan, 0, 0, INT64_MAX, page, out, err);
    history_scan_close(scan);
    return result;
}

static int
print_page(struct history_reader *r, const struct history_question *q, struct history_page *page,
           struct strbuf *out, struct error *err)
{
    CLEANUP(history_filter_freep)
    struct history_filter *filter = history_filter_new(r->connection, q);
    struct history_scan *scan = NULL;
    bool is_alone;
    int result = history_scan_open(r->connection, filter, HISTORY_SCAN_ROWS, q->after_end_s,
                                   q->after_id, &scan, err);

    if (result < 0)
        return result;
    is_alone = r->helpers == 0 || !history_scan_is_cheap(scan);
    result = history_print_page(r->printer, scan, 0, 0, is_alone ? INT64_MAX : ROWS_ALONE, page,
                                out, err);
    history_scan_close(scan);
    if (result < 1)
        return result;
    history_parts_print(r->parts, r->helpers, filter, page, out);
    return page->is_cut ? 0 : add_rest(r, filter, page, out, err);
}

static int
print_list(struct history_reader *r, const struct history_question *q, struct strbuf *out,
           struct error *err)
{
    sqlite3 *db = history_connection_db(r->connection);
    struct history_page page = {0};
    int result = sql_exec(db, "BEGIN", err);

    if (result < 0)
        return result;
    strbuf_add_text(out, "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":"
                         "\"HistoryList\",\"items\":[");
    result = print_page(r, q, &page, out, err);
    (void)sql_exec(db, "COMMIT", NULL);
    strbuf_add_char(out, ']');
    if (page.is_cut)
        strbuf_printf(out, ",\"metadata\":{\"continue\":\"%" PRId64 ".%" PRId64 "\"}", page.end_s,
                      page.id);
    strbuf_add_char(out, '}');
    return result;
}

int
history_reader_answer(struct history_reader *r, const struct history_question *q, int64_t most_us,
                      struct strbuf *out, struct error *err)
{
    history_connection_set_end(r->connection, clock_monotonic_us(&clock_system) + most_us);
    if (q->by == HISTORY_BY_NOTHING)
        return print_list(r, q, out, err);
    if (q->by == HISTORY_STEPS)
        return history_steps_print(r->connection, q, out, err);
    return history_sums_print(r->connection, q, out, err);
}
