/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_parts.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/history/history_filter.h"
#include "controller/history/history_page.h"
#include "controller/history/history_print.h"
#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/history/history_reader_state.h"
#include "controller/history/history_scan.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"

#define PART_ROWS  384
#define PARTS_MOST 40 /* of a round: what stands in memory */
#define NICE_MORE  10 /* beyond the controller's own */

/* Rows behind one up to another. */
struct part {
    int64_t after_end_s, after_id;
    int64_t last_end_s, last_id;
    struct history_page page;
    struct strbuf text;
    int result;
};

struct helper {
    struct history_parts *parts;
    struct history_reader *reader;
    pthread_t thread;
    bool is_started;

    /* Its thread's own. */
    struct arena *arena; /* of the filter */
    struct history_filter filter;
    uint64_t round; /* that the filter is of */
    bool is_begun;  /* a transaction */
};

/* `lock` guards the counts, `round` and `is_ending`. A part is of who took it,
 * until it is done; the question, and how many are wanted, stay as they are
 * while parts are being read.
 */
struct history_parts {
    pthread_mutex_t lock;
    pthread_cond_t more, finished;
    struct helper *helpers;
    unsigned n_helpers;
    unsigned wanted; /* helpers, the first of them */
    bool is_ending;

    const struct history_question *question;
    int64_t ends_us;
    uint64_t round;
    struct part parts[PARTS_MOST];
    unsigned count, taken, done;
};

/* ---- A part ---- */

static void
read_part(struct history_reader *r,
          const struct history_filter *filter,
          struct part *part)
{
    struct history_question q = *filter->question;
    struct history_filter f = *filter;
    struct history_scan *scan = NULL;

    q.after_end_s = part->after_end_s;
    q.after_id = part->after_id;
    f.question = &q;
    part->result = history_scan_open(r, &f, q.members, &scan, NULL);
    if (part->result == 0)
        part->result = history_page_add(r,
                                        scan,
                                        &f,
                                        part->last_end_s,
                                        part->last_id,
                                        INT64_MAX,
                                        &part->page,
                                        &part->text,
                                        NULL);
    history_scan_close(scan);
}

/* Locked, as those of helpers. */
static struct part *
take(struct history_parts *ps)
{
    return ps->taken < ps->count ? &ps->parts[ps->taken++] : NULL;
}

static struct part *
take_as(const struct helper *h)
{
    return h - h->parts->helpers < h->parts->wanted ? take(h->parts) : NULL;
}

static void
give(struct history_parts *ps)
{
    pthread_mutex_lock(&ps->lock);
    ps->done++;
    pthread_cond_signal(&ps->finished);
    pthread_mutex_unlock(&ps->lock);
}

/* ---- The threads ---- */

static void
end_transaction(struct helper *h)
{
    if (h->is_begun)
        (void)sql_exec(h->reader->db, "COMMIT", NULL);
    h->is_begun = false;
}

/* Words of the question are looked up in what this connection reads, so that it
 * gives no row which its own file does not call the asker's.
 */
static int
begin(struct helper *h, uint64_t round)
{
    struct history_parts *ps = h->parts;
    int r;

    if (h->round != round)
        end_transaction(h);
    if (!h->is_begun) {
        r = sql_exec(h->reader->db, "BEGIN", NULL);
        if (r < 0)
            return r;
        h->is_begun = true;
    }
    if (h->round == round)
        return 0;
    arena_free(h->arena);
    h->arena = arena_new(0);
    history_filter_make(h->reader, ps->question, h->arena, &h->filter);
    h->reader->ends_us = ps->ends_us;
    h->round = round;
    return 0;
}

/* Waits without a transaction, which would keep the log from being reused. */
static struct part *
wait_for_part(struct helper *h, uint64_t *ret_round)
{
    struct history_parts *ps = h->parts;
    struct part *part = NULL;

    pthread_mutex_lock(&ps->lock);
    while (!ps->is_ending && (part = take_as(h)) == NULL) {
        if (!h->is_begun)
            pthread_cond_wait(&ps->more, &ps->lock);
        else {
            pthread_mutex_unlock(&ps->lock);
            end_transaction(h);
            pthread_mutex_lock(&ps->lock);
        }
    }
    *ret_round = ps->round;
    pthread_mutex_unlock(&ps->lock);
    return part;
}

/* Linux counts niceness by thread; none with a real-time priority stays so. */
static void
stand_back(void)
{
    const struct sched_param usual = {.sched_priority = 0};
    const id_t self = (id_t)gettid();

    (void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
    (void)setpriority(PRIO_PROCESS,
                      self,
                      getpriority(PRIO_PROCESS, self) + NICE_MORE);
}

static void *
helper_main(void *arg)
{
    struct helper *h = arg;
    struct part *part;
    uint64_t round;

    stand_back();
    while ((part = wait_for_part(h, &round)) != NULL) {
        part->result = begin(h, round);
        if (part->result == 0)
            read_part(h->reader, &h->filter, part);
        give(h->parts);
    }
    end_transaction(h);
    return NULL;
}

/* ---- Life ---- */

void
history_parts_free(struct history_parts *ps)
{
    if (ps == NULL)
        return;
    pthread_mutex_lock(&ps->lock);
    ps->is_ending = true;
    pthread_cond_broadcast(&ps->more);
    pthread_mutex_unlock(&ps->lock);
    for (unsigned i = 0; i < ps->n_helpers; i++) {
        if (ps->helpers[i].is_started)
            pthread_join(ps->helpers[i].thread, NULL);
        history_reader_close(ps->helpers[i].reader);
        arena_free(ps->helpers[i].arena);
    }
    pthread_cond_destroy(&ps->more);
    pthread_cond_destroy(&ps->finished);
    pthread_mutex_destroy(&ps->lock);
    free(ps->helpers);
    free(ps);
}

static int
start(struct helper *h, const char *path, struct error *err)
{
    int r = history_reader_open(path, 0, &h->reader, err);

    if (r == 0)
        r = sql_exec(h->reader->db, "PRAGMA cache_size = -8192", err);
    if (r < 0)
        return r;
    if (thread_start(&h->thread, "history-part", helper_main, h) != 0)
        return error_set(err, -EAGAIN, "no thread can be started for history");
    h->is_started = true;
    return 0;
}

int
history_parts_new(const char *path,
                  unsigned threads,
                  struct history_parts **ret_parts,
                  struct error *err)
{
    struct history_parts *ps = xnew(struct history_parts);
    int r = 0;

    pthread_mutex_init(&ps->lock, NULL);
    pthread_cond_init(&ps->more, NULL);
    pthread_cond_init(&ps->finished, NULL);
    ps->helpers = xnew_array(struct helper, threads);
    ps->n_helpers = threads;
    for (unsigned i = 0; i < PARTS_MOST; i++)
        strbuf_init(&ps->parts[i].text);
    for (unsigned i = 0; r == 0 && i < threads; i++) {
        ps->helpers[i].parts = ps;
        r = start(&ps->helpers[i], path, err);
    }
    if (r < 0) {
        history_parts_free(ps);
        return r;
    }
    *ret_parts = ps;
    return 0;
}

/* ---- A round ---- */

static void
publish(struct history_parts *ps,
        const struct history_page *from,
        int64_t last_end_s,
        int64_t last_id)
{
    struct part *part = &ps->parts[ps->count];
    const struct part *before = ps->count > 0 ? part - 1 : NULL;

    part->after_end_s = before != NULL ? before->last_end_s : from->end_s;
    part->after_id = before != NULL ? before->last_id : from->id;
    part->last_end_s = last_end_s;
    part->last_id = last_id;
    part->page = (struct history_page){0};
    part->result = 0;
    pthread_mutex_lock(&ps->lock);
    ps->count++;
    pthread_cond_broadcast(&ps->more);
    pthread_mutex_unlock(&ps->lock);
}

/* Rows that are to be looked at for those that are still wanted, as far as what
 * was seen tells.
 */
static int64_t
guess_rows(const struct history_page *page, int64_t limit)
{
    const int64_t most = (int64_t)PART_ROWS * PARTS_MOST;
    const int64_t of_one = page->seen / (page->shown > 0 ? page->shown : 1) + 1;
    const int64_t left = limit - page->shown;

    if (page->shown == page->seen)
        return left < most ? left : most;
    return left < most / of_one ? left * of_one : most;
}

/* Indexes alone have all of this, but where they lack a column. */
static void
walk(struct history_parts *ps,
     struct history_reader *r,
     const struct history_filter *filter,
     const struct history_page *page)
{
    struct history_question q = *filter->question;
    struct history_filter f = *filter;
    struct history_scan *scan = NULL;
    sqlite3_stmt *s = NULL;
    int64_t left = guess_rows(page, q.limit), end_s = 0, id = 0;
    int64_t of_part = 0;

    q.after_end_s = page->end_s;
    q.after_id = page->id;
    f.question = &q;
    f.columns = COLUMN_BIT(COLUMN_ID) | COLUMN_BIT(COLUMN_END);
    if (left < PART_ROWS
        || history_scan_open(r, &f, HISTORY_MEMBER_ID, &scan, NULL) < 0)
        return;
    for (; left > 0 && history_scan_next(scan, &s, NULL) == 1; left--) {
        end_s = sqlite3_column_int64(s, COLUMN_END);
        id = sqlite3_column_int64(s, COLUMN_ID);
        if (++of_part == PART_ROWS) {
            publish(ps, page, end_s, id);
            of_part = 0;
        }
    }
    if (of_part > 0 && ps->count > 0 && ps->count < PARTS_MOST)
        publish(ps, page, end_s, id);
    history_scan_close(scan);
}

static void
read_parts(struct history_parts *ps,
           struct history_reader *r,
           const struct history_filter *filter)
{
    pthread_mutex_lock(&ps->lock);
    for (;;) {
        struct part *part = take(ps);

        if (part == NULL)
            break;
        pthread_mutex_unlock(&ps->lock);
        read_part(r, filter, part);
        pthread_mutex_lock(&ps->lock);
        ps->done++;
    }
    while (ps->done < ps->count)
        pthread_cond_wait(&ps->finished, &ps->lock);
    pthread_mutex_unlock(&ps->lock);
}

/* A part does not know how many rows the page still wants: a page that it fills ends
 * with the last one that is shown, and not with what is another's behind it. All
 * of any other was looked at, also where its rows have gone meanwhile.
 */
static void
move_behind(struct history_page *page, const struct part *part, int64_t limit)
{
    if (page->shown == limit) {
        page->end_s = part->page.shown_end_s;
        page->id = part->page.shown_id;
    } else if (!part->page.is_cut) {
        page->end_s = part->last_end_s;
        page->id = part->last_id;
    } else if (part->page.id > 0) {
        page->end_s = part->page.end_s;
        page->id = part->page.id;
    }
}

/* False: the rest is the reader's, for the page ends there, or a part could not
 * be read.
 */
static bool
join(struct history_parts *ps,
     int64_t limit,
     struct history_page *page,
     struct strbuf *out)
{
    for (unsigned i = 0; i < ps->count; i++) {
        const struct part *part = &ps->parts[i];

        if (part->result < 0 || page->shown + part->page.shown > limit)
            return false;
        if (page->shown > 0 && part->page.shown > 0)
            strbuf_add_char(out, ',');
        strbuf_add(out, part->text.text, part->text.length);
        page->shown += part->page.shown;
        page->seen += part->page.seen;
        page->is_cut = part->page.is_cut;
        move_behind(page, part, limit);
        if (page->is_cut || page->shown == limit)
            return false;
    }
    return ps->count > 0;
}

static void
forget(struct history_parts *ps)
{
    pthread_mutex_lock(&ps->lock);
    for (unsigned i = 0; i < ps->count; i++)
        strbuf_fini(&ps->parts[i].text);
    ps->count = ps->taken = ps->done = 0;
    ps->round++;
    pthread_mutex_unlock(&ps->lock);
}

void
history_parts_print(struct history_parts *ps,
                    unsigned helpers,
                    struct history_reader *r,
                    const struct history_filter *filter,
                    struct history_page *page,
                    struct strbuf *out)
{
    bool has_more = true;

    pthread_mutex_lock(&ps->lock);
    ps->wanted = helpers;
    pthread_mutex_unlock(&ps->lock);
    ps->question = filter->question;
    ps->ends_us = r->ends_us;
    while (has_more) {
        forget(ps);
        walk(ps, r, filter, page);
        read_parts(ps, r, filter);
        has_more = join(ps, filter->question->limit, page, out);
    }
    forget(ps);
}
