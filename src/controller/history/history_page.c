/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_page.h"

#include <sqlite3.h>

#include "controller/history/history_fields.h"
#include "controller/history/history_filter.h"
#include "controller/history/history_parts.h"
#include "controller/history/history_print.h"
#include "controller/history/history_question.h"
#include "controller/history/history_reader_state.h"
#include "controller/history/history_scan.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define ROWS_BETWEEN_LOOKS 64 /* between looks at the clock */

/* Most questions have fewer rows than these; no helper is woken for them. */
#define ROWS_ALONE 256

static bool
is_over(const struct history_reader *r)
{
    return clock_monotonic_us(&clock_system) >= r->ends_us;
}

/* When the page is full, looks for one more row that the asker may read, and
 * sets is_cut if there is one. Rows of others are skipped, since is_cut would
 * reveal their existence.
 */
int
history_page_add(struct history_reader *r, struct history_scan *scan,
                 const struct history_filter *f, int64_t last_end_s, int64_t last_id,
                 int64_t most_seen, struct history_page *page, struct strbuf *out,
                 struct error *err)
{
    const struct history_question *q = f->question;
    sqlite3_stmt *s = NULL;
    int result;

    for (;;) {
        bool is_wanted;
        int64_t end_s, id;

        if (page->seen >= most_seen)
            return 1;
        result = history_scan_next(scan, &s, err);
        if (result < 1)
            return result;
        end_s = sqlite3_column_int64(s, HISTORY_AT_END);
        id = sqlite3_column_int64(s, HISTORY_AT_ID);
        if (last_id > 0 && (end_s > last_end_s || (end_s == last_end_s && id > last_id)))
            return 0;
        if (++page->seen % ROWS_BETWEEN_LOOKS == 0 && is_over(r)) {
            page->is_cut = true;
            return 0;
        }
        is_wanted = history_filter_wants(f, s);
        if (page->shown == q->limit) {
            if (!is_wanted)
                continue;
            page->is_cut = true;
            return 0;
        }
        page->end_s = end_s;
        page->id = id;
        if (!is_wanted)
            continue;
        page->shown_end_s = end_s;
        page->shown_id = id;
        if (page->shown++ > 0)
            strbuf_add_char(out, ',');
        history_print_row(r, s, q->members, history_filter_is_own(f, s), out);
    }
}

/* Adds the rest of the page, from the row that was compared last. */
static int
add_rest(struct history_reader *r, const struct history_filter *filter, struct history_page *page,
         struct strbuf *out, struct error *err)
{
    struct history_question q = *filter->question;
    struct history_filter f = *filter;
    struct history_scan *scan = NULL;
    int result;

    q.after_end_s = page->end_s;
    q.after_id = page->id;
    f.question = &q;
    result = history_scan_open(r, &f, q.members, &scan, err);
    if (result == 0)
        result = history_page_add(r, scan, &f, 0, 0, INT64_MAX, page, out, err);
    history_scan_close(scan);
    return result;
}

int
history_page_print(struct history_reader *r, const struct history_question *q,
                   struct history_page *page, struct strbuf *out, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct history_scan *scan = NULL;
    struct history_filter filter;
    bool is_alone;
    int result;

    history_filter_make(r, q, arena, &filter);
    result = history_scan_open(r, &filter, q->members, &scan, err);
    if (result < 0)
        return result;
    is_alone = r->helpers == 0 || !history_scan_is_cheap(scan);
    result =
        history_page_add(r, scan, &filter, 0, 0, is_alone ? INT64_MAX : ROWS_ALONE, page, out, err);
    history_scan_close(scan);
    if (result < 1)
        return result;
    history_parts_print(r->parts, r->helpers, r, &filter, page, out);
    return page->is_cut ? 0 : add_rest(r, &filter, page, out, err);
}
