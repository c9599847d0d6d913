/* SPDX-License-Identifier: Apache-2.0 */
/* history - rows written per second, bytes per row, and queries of many rows
 *
 *     testsuite/bench/history [ROWS [DIRECTORY [QUESTION [HELPERS]]]]
 *
 * Fills a new file in DIRECTORY (or /tmp) with attempts of 1,000 users in 50
 * accounts on 500 nodes over three years, then queries it. One user, one node,
 * one partition and one state have 100,000 of the rows each, for any larger
 * ROWS; the user was renamed halfway. Each query (or those with QUESTION in
 * their names) runs twice, and the second run is printed, with all its pages:
 * the elapsed time and the CPU time of this process. HELPERS threads help (1),
 * whether there are idle CPUs or not.
 *
 * The last 100,000 rows are written in batches like the controller's, into the
 * full file: their rate is printed. The rows before are only needed to fill the
 * file: they are written in large transactions, and with ascending uids, so
 * that 10 million take minutes. This packs the index of uids more tightly than
 * real uids would (by about 10 bytes per row).
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "controller/history/history_file.h"
#include "controller/history/history_index.h"
#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)
#define BEGIN_S   INT64_C(1700000000)
#define SPAN_S    (3 * 365 * INT64_C(86400))
#define BATCH     1000
#define BULK      200000 /* rows per transaction that is not measured */
#define MEASURED  100000
#define OF_ONE    100000 /* rows of the user that is queried */
#define PAGE      5000

static uint64_t
mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static void
give_up(const char *what, const struct error *err)
{
    fprintf(stderr, "history: %s: %s\n", what, err->text);
    exit(1);
}

/* The texts of one row. */
struct row_texts {
    char user[16], account[16], node[16], object[32], pod[40];
    char job_uid[64], pod_uid[64], script[80];
    int64_t cpu_us, peak, zero;
};

static void
make_uid(uint64_t seed, char out[64])
{
    const uint64_t a = mix(seed), b = mix(seed + 1);

    (void)snprintf(out, 64, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                   a >> 32, a >> 16 & 0xffff, a & 0xffff, b >> 48, b & UINT64_C(0xffffffffffff));
}

static void
make_row(int64_t n, int64_t rows, struct row_texts *t, struct history_row *row)
{
    const uint64_t r = mix((uint64_t)n);
    const int64_t every = rows > OF_ONE ? rows / OF_ONE : 1;
    /* 0 to 3: one of the values with 100,000 rows */
    const int64_t of_one = n % every;
    const unsigned user = of_one == 0 ? 0 : 1 + (unsigned)(r % 999);
    const unsigned node = of_one == 1 ? 500 : (unsigned)(r >> 20) % 500;
    const int64_t end_s = BEGIN_S + (int64_t)((double)n / (double)rows * (double)SPAN_S);
    const int64_t ran_s = 60 + (int64_t)(r >> 8) % 7200;

    (void)snprintf(t->user, sizeof(t->user), "user%u", user);
    if (user == 0 && n >= rows / 2)
        (void)snprintf(t->user, sizeof(t->user), "user0-renamed");
    if (user == 1 && n < rows / 10)
        (void)snprintf(t->user, sizeof(t->user), "user2");
    (void)snprintf(t->account, sizeof(t->account), "account%u", user % 50);
    (void)snprintf(t->node, sizeof(t->node), "n%u", node);
    (void)snprintf(t->object, sizeof(t->object), "job-%" PRId64, n);
    (void)snprintf(t->pod, sizeof(t->pod), "job-%" PRId64 "-0", n);
    (void)snprintf(t->script, sizeof(t->script),
                   "sha256:%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, r, r, r, r);
    make_uid((uint64_t)n * 4, t->job_uid);
    make_uid((uint64_t)n * 4 + 2, t->pod_uid);
    if (n < rows - MEASURED)
        (void)snprintf(t->pod_uid, sizeof(t->pod_uid), "00000000-0000-4000-8000-%012" PRIx64,
                       (uint64_t)n);
    t->cpu_us = ran_s * SECOND_US / 2;
    t->peak = (int64_t)(r >> 30);
    t->zero = 0;
    *row = (struct history_row){
        .user = t->user,
        .uid = 10000 + user,
        .account = t->account,
        .partition = of_one == 2     ? "debug"
                     : user % 3 == 0 ? "gpu"
                                     : "batch",
        .job_id = n + 1,
        .job_uid = t->job_uid,
        .object = t->object,
        .name = "simulation",
        .pod = t->pod,
        .pod_uid = t->pod_uid,
        .attempt = 1,
        .submit_at_us = (end_s - ran_s - 300) * SECOND_US,
        .eligible_at_us = (end_s - ran_s - 300) * SECOND_US,
        .start_at_us = (end_s - ran_s) * SECOND_US,
        .end_at_us = end_s * SECOND_US,
        .node = t->node,
        .cpu_milli = 1000 * (1 + (int64_t)(r >> 40) % 32),
        .memory_bytes = INT64_C(4) << 30,
        .time_limit_s = 14400,
        .cpu_time_us = &t->cpu_us,
        .peak_memory_bytes = &t->peak,
        .read_bytes = &t->cpu_us,
        .written_bytes = &t->peak,
        .state = of_one == 3   ? "TimedOut"
                 : r % 20 == 0 ? "Failed"
                               : "Completed",
        .exit_code = &t->zero,
        .script = t->script,
        .revision = n + 1,
    };
}

static double
seconds_since(int64_t began_us)
{
    return (double)(clock_monotonic_us(&clock_system) - began_us) / SECOND_US;
}

/* Adds the indexes to an existing file, as for a file of an earlier release. */
static void
add_indexes(const char *path)
{
    const int64_t began_us = clock_monotonic_us(&clock_system);
    atomic_bool stops = false;
    struct error err = {0};

    if (history_index_build(path, &stops, &err) < 0)
        give_up("indexes", &err);
    printf("indexes that were missing: %.1f s\n", seconds_since(began_us));
}

/* Writes the rows from *n to `until`; returns the seconds that it took. */
static double
write_rows(struct history_file *file, int64_t *n, int64_t until, int64_t batch, int64_t rows)
{
    const int64_t began_us = clock_monotonic_us(&clock_system);
    struct error err = {0};

    while (*n < until) {
        if (history_file_begin(file, &err) < 0)
            give_up("writing", &err);
        for (int64_t i = 0; i < batch && *n < until; i++, (*n)++) {
            struct row_texts texts;
            struct history_row row;

            make_row(*n, rows, &texts, &row);
            if (history_file_add(file, &row, &err) < 0)
                give_up("writing", &err);
        }
        if (history_file_commit(file, *n, &err) < 0)
            give_up("committing", &err);
        if (*n % 1000000 == 0)
            fprintf(stderr, "%" PRId64 " rows, %.0f s\n", *n, seconds_since(began_us));
    }
    return seconds_since(began_us);
}

static struct history_file *
open_file(const char *path, struct strbuf *notice)
{
    const struct history_origin origin = {
        .cluster = "bench",
        .revision = INT64_MAX,
        .lost = "",
    };
    const int64_t began_us = clock_monotonic_us(&clock_system);
    struct history_file *file = NULL;
    struct error err = {0};

    if (history_file_open(path, &origin, &file, notice, &err) < 0)
        give_up("opening", &err);
    printf("opened: %.1f s\n", seconds_since(began_us));
    return file;
}

static void
fill(const char *path, int64_t rows)
{
    const int64_t bulk = rows > MEASURED ? rows - MEASURED : 0;
    CLEANUP_STRBUF struct strbuf notice = STRBUF_INIT;
    struct history_file *file = NULL;
    struct stat st;
    int64_t n = 0;
    double took;

    file = open_file(path, &notice);
    add_indexes(path);
    if (bulk > 0) {
        took = write_rows(file, &n, bulk, BULK, rows);
        printf("filled: %" PRId64 " rows, %.0f rows/s\n", bulk, (double)bulk / took);
    }
    took = write_rows(file, &n, rows, BATCH, rows);
    printf("written: %" PRId64 " rows in batches of %d, %.0f rows/s\n", rows - bulk, BATCH,
           (double)(rows - bulk) / took);
    history_file_close(file);
    if (stat(path, &st) == 0)
        printf("bytes a row, with its indexes: %.0f\n", (double)st.st_size / (double)rows);
}

static const char *wanted = ""; /* part of a query's name */

static double
cpu_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads all pages of a query, as kctl history does. */
static void
ask(struct history_reader *reader, const char *name, const struct history_question *question)
{
    const char *item = question->by == HISTORY_BY_NOTHING ? "\"user\":" : "\"ended\":";
    double took = 0, first = 0, longest = 0, cpu = 0;
    int64_t rows = 0;
    unsigned pages = 0;

    if (strstr(name, wanted) == NULL)
        return;
    for (int time = 0; time < 2; time++) {
        struct history_question q = *question;
        bool has_more = true;

        rows = pages = 0;
        took = first = longest = cpu = 0;
        while (has_more) {
            CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
            const int64_t began_us = clock_monotonic_us(&clock_system);
            struct error err = {0};
            const char *next;
            double page, busy = cpu_seconds();
            int r = history_reader_answer(
                reader, &q, q.by == HISTORY_BY_NOTHING ? 200000 : 30000000, &out, &err);

            if (r < 0)
                give_up(name, &err);
            page = seconds_since(began_us);
            took += page;
            cpu += cpu_seconds() - busy;
            longest = page > longest ? page : longest;
            if (pages++ == 0)
                first = page;
            for (const char *at = out.text; (at = strstr(at, item)) != NULL; at++)
                rows++;
            next = strstr(out.text, "\"continue\":\"");
            has_more =
                next != NULL
                && sscanf(next, "\"continue\":\"%" SCNd64 ".%" SCNd64, &q.after_end_s, &q.after_id)
                       == 2;
        }
    }
    printf("%-44s %8" PRId64 " rows %5u pages  first %7.1f ms  longest %7.1f "
           "ms  all %8.1f ms  cpu %8.1f ms\n",
           name, rows, pages, first * 1000, longest * 1000, took * 1000, cpu * 1000);
}

/* The members that kctl history requests for its table. */
static uint64_t
usual_members(void)
{
    static const char *const names[] = {
        "job",       "index", "task",    "name",     "user",      "account",
        "partition", "state", "attempt", "endTime",  "startTime", "frozenMicroseconds",
        "cpuMillis", "node",  "signal",  "exitCode", "reason"};
    uint64_t members = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        members |=
            UINT64_C(1) << (record_find(&history_row_record, names[i]) - history_row_record.fields);
    return members;
}

int
main(int argc, char **argv)
{
    static const char *const own_account[] = {"account7"};
    const int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    const char *directory = argc > 2 ? argv[2] : "/tmp";
    CLEANUP_FREE char *path = xasprintf("%s/bench-history.db", directory);
    const int64_t day_s = 86400, end_s = BEGIN_S + SPAN_S;
    unsigned helpers = 1; /* threads beside the querying one */
    struct history_reader *reader = NULL;
    struct error err = {0};
    const struct history_question all = {.rights = {.is_all = true}, .limit = PAGE};
    const struct history_rights own = {
        .uid = 10007, .user = "user7", .accounts = own_account, .n_accounts = 1};
    struct history_question q;

    if (argc > 3)
        wanted = argv[3];
    if (argc > 4)
        helpers = (unsigned)strtoul(argv[4], NULL, 10);
    if (access(path, F_OK) < 0)
        fill(path, rows);
    else {
        CLEANUP_STRBUF struct strbuf notice = STRBUF_INIT;

        printf("asking '%s', which was there\n", path);
        history_file_close(open_file(path, &notice));
        add_indexes(path);
    }
    if (history_reader_open(path, helpers, &reader, &err) < 0)
        give_up("reading", &err);

    q = all, q.job_id = rows / 2;
    ask(reader, "one job", &q);
    q = all, q.has_uid = true, q.uid = 10000, q.since_s = end_s - 30 * day_s;
    ask(reader, "a user, the last 30 days", &q);
    q = all, q.has_uid = true, q.uid = 10000;
    ask(reader, "a user of two names, 100,000 rows", &q);
    q.states = JOB_STATE_BIT(JOB_STATE_FAILED);
    ask(reader, "...those that failed", &q);
    q = all, q.user = "user0-renamed";
    ask(reader, "...by the second of the names", &q);
    q = all, q.user = "user2";
    ask(reader, "a name that two uids had", &q);
    q = all, q.has_uid = true, q.uid = 10000, q.partition = "gpu";
    q.since_s = end_s - 365 * day_s, q.until_s = end_s - 335 * day_s;
    ask(reader, "a user, a partition, a month of last year", &q);
    q = all, q.node = "n500";
    ask(reader, "a node, 100,000 rows", &q);
    q = all, q.states = JOB_STATE_BIT(JOB_STATE_TIMED_OUT);
    ask(reader, "a state, 100,000 rows", &q);
    q = all, q.partition = "debug";
    ask(reader, "a partition, 100,000 rows", &q);
    q = all, q.until_s = BEGIN_S + SPAN_S / 100;
    ask(reader, "until, 100,000 rows", &q);
    q = all, q.since_s = end_s - day_s;
    ask(reader, "everybody, the last day", &q);
    q = all, q.node = "n7", q.since_s = end_s - 90 * day_s;
    ask(reader, "a node, 90 days", &q);
    q = all, q.account = "account7";
    q.states = JOB_STATE_BIT(JOB_STATE_FAILED);
    ask(reader, "an account, all that failed", &q);
    q = all, q.states = JOB_STATE_BIT(JOB_STATE_TIMED_OUT);
    q.states |= JOB_STATE_BIT(JOB_STATE_FAILED), q.since_s = end_s - 30 * day_s;
    ask(reader, "two states, 30 days", &q);
    q = all, q.rights = own;
    q.since_s = end_s - 30 * day_s;
    ask(reader, "as a user, all that he may see, 30 days", &q);
    q = all, q.has_uid = true, q.uid = 10000, q.members = usual_members();
    ask(reader, "a user, 100,000 rows, as a table", &q);
    q = all, q.until_s = BEGIN_S + SPAN_S / 100, q.members = usual_members();
    ask(reader, "until, 100,000 rows, as a table", &q);
    q = all, q.name = "*nothing*";
    ask(reader, "a name that none has (all rows)", &q);
    q = all, q.by = HISTORY_BY_ACCOUNT, q.since_s = end_s - 30 * day_s;
    ask(reader, "report: accounts, 30 days", &q);
    q = all, q.by = HISTORY_BY_MONTH, q.user = "user7";
    ask(reader, "report: months, a user", &q);
    q = all, q.by = HISTORY_BY_MONTH;
    ask(reader, "report: months, all", &q);
    q.by = HISTORY_BY_USER;
    q.rights = own;
    ask(reader, "report: users, as a user", &q);
    history_reader_close(reader);
    return 0;
}
