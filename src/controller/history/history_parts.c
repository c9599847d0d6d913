/* SPDX-License-Identifier: Apache-2.0 */
/* With idle CPUs a long page is read several times as fast. Without them, helpers would take time
 * from jobs and from the loop, and a reader that waits for them would be slower than alone. So
 * helpers have a lower priority, the reader never waits for a part longer than it takes for one
 * itself, and there is no lock that a helper without a CPU could hold.
 */
#include "controller/history/history_parts.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "controller/history/history_connection.h"
#include "controller/history/history_print.h"
#include "controller/history/history_question.h"
#include "controller/history/history_round.h"
#include "controller/history/history_scan.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"

#define PART_ROWS    384
/* rows between checks whether another thread gave the part */
#define ROWS_AT_ONCE 64
#define NICE_MORE    10 /* added to the controller's niceness */
#define SECOND_US    INT64_C(1000000)

/* A waiting thread. It gets a post only while it waits, so that posts do not
 * accumulate. It is a semaphore because a signal of glibc's condition variables
 * may wait for a thread that was woken before.
 */
struct part_waiter {
    sem_t posts;
    atomic_bool is_waiting;
};

struct helper {
    struct history_parts *parts;
    struct history_connection *connection;
    struct history_printer *printer;
    pthread_t thread;
    bool is_started;
    struct part_waiter more;
    _Atomic(struct history_round *) offered; /* holds a reference */

    /* Used only by the helper's thread. */
    struct history_round *round;
    struct history_filter *filter; /* of the round; or NULL */
    bool is_begun;                 /* a transaction is open */
};

struct history_parts {
    struct helper *helpers;
    unsigned n_helpers;
    atomic_bool is_ending;
    struct part_waiter given; /* the reader, waiting for results */

    /* Used only by the reader. */
    struct history_connection *connection;
    struct history_printer *printer;
    struct history_round *round;
    unsigned wanted;    /* helpers to use: the first ones */
    int64_t longest_us; /* the reader's longest time for a part of the round */
};

/* ---- Waiting ---- */

static void
wake(struct part_waiter *w)
{
    if (atomic_exchange(&w->is_waiting, false))
        (void)sem_post(&w->posts);
}

/* ---- A part ---- */

/* Stops when another thread has given the part meanwhile. */
static void
read_part(struct history_connection *connection, struct history_printer *printer,
          const struct history_filter *filter, const struct history_round *round, unsigned i,
          struct history_part_result *result)
{
    const struct history_part *part = history_round_part(round, i);
    struct history_scan *scan = NULL;

    result->code = history_scan_open(connection, filter, HISTORY_SCAN_ROWS, part->after_end_s,
                                     part->after_id, &scan, NULL);
    if (result->code == 0)
        do
            result->code = history_print_page(printer, scan, part->last_end_s, part->last_id,
                                              result->page.seen + ROWS_AT_ONCE, &result->page,
                                              &result->text, NULL);
        while (result->code == 1 && history_round_result_of(round, i) == NULL);
    history_scan_close(scan);
}

/* ---- The threads ---- */

static void
end_transaction(struct helper *h)
{
    if (h->is_begun)
        (void)sql_exec(history_connection_db(h->connection), "COMMIT", NULL);
    h->is_begun = false;
}

/* The words of the question are looked up in this connection's transaction, so
 * that the filter matches only rows which that state of the file gives to the
 * asker.
 */
static int
begin(struct helper *h)
{
    int r;

    if (!h->is_begun) {
        r = sql_exec(history_connection_db(h->connection), "BEGIN", NULL);
        if (r < 0)
            return r;
        h->is_begun = true;
    }
    if (h->filter == NULL)
        h->filter = history_filter_new(h->connection, history_round_question(h->round));
    history_connection_set_end(h->connection, history_round_ends_us(h->round));
    return 0;
}

static void
take_offer(struct helper *h)
{
    struct history_round *offered = atomic_exchange(&h->offered, NULL);

    if (offered == NULL)
        return;
    end_transaction(h);
    history_filter_free(h->filter);
    h->filter = NULL;
    history_round_unref(h->round);
    h->round = offered;
}

static void
read_claimed(struct helper *h, unsigned i)
{
    struct history_part_result *result = history_part_result_new();

    result->code = begin(h);
    if (result->code == 0)
        read_part(h->connection, h->printer, h->filter, h->round, i, result);
    history_round_give(h->round, i, result);
    wake(&h->parts->given);
}

/* Linux keeps the niceness per thread. A real-time priority is dropped. */
static void
stand_back(void)
{
    const struct sched_param usual = {.sched_priority = 0};
    const id_t self = (id_t)gettid();
    struct sched_param order;
    int policy;

    if (pthread_getschedparam(pthread_self(), &policy, &order) == 0 && order.sched_priority > 0)
        (void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
    (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICE_MORE);
}

/* A helper waits without a transaction, which would keep the log from being
 * reused. After it has announced that it waits, it looks for parts once more,
 * since parts that were added before that do not wake it.
 */
static void *
helper_main(void *arg)
{
    struct helper *h = arg;
    bool has_said_so = false;
    unsigned i;

    stand_back();
    while (!atomic_load(&h->parts->is_ending)) {
        take_offer(h);
        if (h->round != NULL && history_round_claim(h->round, &i)) {
            read_claimed(h, i);
            has_said_so = false;
        } else if (!has_said_so) {
            end_transaction(h);
            atomic_store(&h->more.is_waiting, true);
            has_said_so = true;
        } else {
            (void)sem_wait(&h->more.posts);
            has_said_so = false;
        }
    }
    end_transaction(h);
    return NULL;
}

/* ---- Life ---- */

static void
close_helper(struct helper *h)
{
    if (h->is_started) {
        (void)sem_post(&h->more.posts);
        pthread_join(h->thread, NULL);
    }
    history_filter_free(h->filter);
    history_printer_free(h->printer);
    history_connection_close(h->connection);
    history_round_unref(h->round);
    history_round_unref(atomic_load(&h->offered));
    (void)sem_destroy(&h->more.posts);
}

void
history_parts_free(struct history_parts *ps)
{
    if (ps == NULL)
        return;
    atomic_store(&ps->is_ending, true);
    for (unsigned i = 0; i < ps->n_helpers; i++)
        close_helper(&ps->helpers[i]);
    (void)sem_destroy(&ps->given.posts);
    free(ps->helpers);
    free(ps);
}

static int
start(struct helper *h, const char *path, struct error *err)
{
    int r = history_connection_open(path, &h->connection, err);

    if (r == 0)
        r = sql_exec(history_connection_db(h->connection), "PRAGMA cache_size = -8192", err);
    if (r < 0)
        return r;
    h->printer = history_printer_new(h->connection);
    if (thread_start(&h->thread, "history-part", helper_main, h) != 0)
        return error_set(err, -EAGAIN, "cannot start a thread for history");
    h->is_started = true;
    return 0;
}

int
history_parts_new(const char *path, unsigned threads, struct history_connection *connection,
                  struct history_printer *printer, struct history_parts **ret_parts,
                  struct error *err)
{
    struct history_parts *ps = xnew(struct history_parts);
    int r = 0;

    ps->connection = connection;
    ps->printer = printer;

    (void)sem_init(&ps->given.posts, 0, 0);
    ps->helpers = xnew_array(struct helper, threads);
    ps->n_helpers = threads;
    for (unsigned i = 0; i < threads; i++) {
        ps->helpers[i].parts = ps;
        (void)sem_init(&ps->helpers[i].more.posts, 0, 0);
    }
    for (unsigned i = 0; r == 0 && i < threads; i++)
        r = start(&ps->helpers[i], path, err);
    if (r < 0) {
        history_parts_free(ps);
        return r;
    }
    *ret_parts = ps;
    return 0;
}

/* ---- A round ---- */

static void
begin_round(struct history_parts *ps, const struct history_question *q, int64_t ends_us)
{
    ps->round = history_round_new(q, ends_us);
    ps->longest_us = 0;
    for (unsigned i = 0; i < ps->wanted; i++)
        history_round_unref(atomic_exchange(&ps->helpers[i].offered, history_round_ref(ps->round)));
}

static void
end_round(struct history_parts *ps)
{
    history_round_forget(ps->round);
    history_round_unref(ps->round);
    ps->round = NULL;
}

static void
publish(struct history_parts *ps, const struct history_page *from, int64_t last_end_s,
        int64_t last_id)
{
    const unsigned count = history_round_count(ps->round);
    struct history_part part = {
        .after_end_s = from->end_s,
        .after_id = from->id,
        .last_end_s = last_end_s,
        .last_id = last_id,
    };

    if (count > 0) {
        const struct history_part *before = history_round_part(ps->round, count - 1);

        part.after_end_s = before->last_end_s;
        part.after_id = before->last_id;
    }
    history_round_add(ps->round, &part);
    for (unsigned i = 0; i < ps->wanted; i++)
        wake(&ps->helpers[i].more);
}

/* An estimate of the rows to be compared for those that are still wanted, from
 * the share of the rows seen so far.
 */
static int64_t
guess_rows(const struct history_page *page, int64_t limit)
{
    const int64_t most = (int64_t)PART_ROWS * HISTORY_ROUND_PARTS;
    const int64_t of_one = page->seen / (page->shown > 0 ? page->shown : 1) + 1;
    const int64_t left = limit - page->shown;

    if (page->shown == page->seen)
        return left < most ? left : most;
    return left < most / of_one ? left * of_one : most;
}

/* The indexes alone have all of these columns, unless an index is missing. */
static void
walk(struct history_parts *ps, const struct history_filter *filter, const struct history_page *page)
{
    struct history_scan *scan = NULL;
    sqlite3_stmt *s = NULL;
    int64_t left = guess_rows(page, history_filter_question(filter)->limit), end_s = 0, id = 0;
    int64_t of_part = 0;
    unsigned count;

    if (left < PART_ROWS
        || history_scan_open(ps->connection, filter, HISTORY_SCAN_PLACES, page->end_s, page->id,
                             &scan, NULL)
               < 0)
        return;
    for (; left > 0 && history_scan_next(scan, &s, NULL) == 1; left--) {
        end_s = sqlite3_column_int64(s, HISTORY_AT_END);
        id = sqlite3_column_int64(s, HISTORY_AT_ID);
        if (++of_part == PART_ROWS) {
            publish(ps, page, end_s, id);
            of_part = 0;
        }
    }
    count = history_round_count(ps->round);
    if (of_part > 0 && count > 0 && count < HISTORY_ROUND_PARTS)
        publish(ps, page, end_s, id);
    history_scan_close(scan);
}

static void
read_own(struct history_parts *ps, const struct history_filter *filter, unsigned i)
{
    const int64_t began_us = clock_monotonic_us(&clock_system);
    struct history_part_result *result = history_part_result_new();
    int64_t took_us;

    read_part(ps->connection, ps->printer, filter, ps->round, i, result);
    history_round_give(ps->round, i, result);
    took_us = clock_monotonic_us(&clock_system) - began_us;
    if (took_us > ps->longest_us)
        ps->longest_us = took_us;
}

/* The first part from `i` on that has no result; the count if there is none. */
static unsigned
find_missing(const struct history_round *round, unsigned i)
{
    const unsigned count = history_round_count(round);

    while (i < count && history_round_result_of(round, i) != NULL)
        i++;
    return i;
}

/* Waits for parts that helpers have claimed, but no longer than the reader
 * takes for a part. Helpers that had a CPU are done by then.
 */
static void
wait_for_helpers(struct history_parts *ps)
{
    const unsigned count = history_round_count(ps->round);
    const int64_t until_us = clock_monotonic_us(&clock_system) + ps->longest_us;
    const struct timespec until = {
        .tv_sec = until_us / SECOND_US,
        .tv_nsec = until_us % SECOND_US * 1000,
    };
    bool is_late = false;

    while (!is_late) {
        atomic_store(&ps->given.is_waiting, true);
        if (find_missing(ps->round, 0) == count)
            break;
        is_late = sem_clockwait(&ps->given.posts, CLOCK_MONOTONIC, &until) < 0 && errno != EINTR;
    }
    atomic_store(&ps->given.is_waiting, false);
}

/* Reads all parts; it succeeds even if no helper runs. */
static void
read_parts(struct history_parts *ps, const struct history_filter *filter)
{
    const unsigned count = history_round_count(ps->round);
    unsigned i;

    while (history_round_claim(ps->round, &i))
        read_own(ps, filter, i);
    wait_for_helpers(ps);
    for (i = find_missing(ps->round, 0); i < count; i = find_missing(ps->round, i))
        read_own(ps, filter, i);
}

/* A part does not know how many rows the page still wants. A page that the part
 * fills ends at the last row printed, and not at another user's row after that.
 * All rows of any other part were compared, even if some are deleted meanwhile.
 */
static void
move_behind(struct history_page *page, const struct history_part *part,
            const struct history_page *of_part, int64_t limit)
{
    if (page->shown == limit) {
        page->end_s = of_part->shown_end_s;
        page->id = of_part->shown_id;
    } else if (!of_part->is_cut) {
        page->end_s = part->last_end_s;
        page->id = part->last_id;
    } else if (of_part->id > 0) {
        page->end_s = of_part->end_s;
        page->id = of_part->id;
    }
}

/* Returns false if the reader must go on alone: the page ends there, or a part
 * could not be read.
 */
static bool
join(const struct history_round *round, int64_t limit, struct history_page *page,
     struct strbuf *out)
{
    const unsigned count = history_round_count(round);

    for (unsigned i = 0; i < count; i++) {
        const struct history_part_result *result = history_round_result_of(round, i);
        const struct history_page *of_part = &result->page;

        if (result->code < 0 || page->shown + of_part->shown > limit)
            return false;
        if (page->shown > 0 && of_part->shown > 0)
            strbuf_add_char(out, ',');
        strbuf_add(out, result->text.text, result->text.length);
        page->shown += of_part->shown;
        page->seen += of_part->seen;
        page->is_cut = of_part->is_cut;
        move_behind(page, history_round_part(round, i), of_part, limit);
        if (page->is_cut || page->shown == limit)
            return false;
    }
    return count > 0;
}

void
history_parts_print(struct history_parts *ps, unsigned helpers, const struct history_filter *filter,
                    struct history_page *page, struct strbuf *out)
{
    const struct history_question *q = history_filter_question(filter);
    bool has_more = true;

    ps->wanted = helpers < ps->n_helpers ? helpers : ps->n_helpers;
    while (has_more) {
        begin_round(ps, q, history_connection_ends_us(ps->connection));
        walk(ps, filter, page);
        read_parts(ps, filter);
        has_more = join(ps->round, q->limit, page, out);
        end_round(ps);
    }
}
