/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/history/history_index.h"
#include "controller/history/history_question.h"
#include "controller/history/history_reader_state.h"
#include "controller/history/history_values.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/wildcard.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define WORDS_KEPT         100000
#define ROWS_BETWEEN_LOOKS 64 /* at the clock */

#define COLUMNS                                                          \
    "a.id, a.end_at, a.uid, a.user, a.account, a.partition, a.job,"      \
    " a.job_uid, a.idx, a.attempt, a.object, a.name, a.pod, a.key,"      \
    " a.submit_at, a.eligible_at, a.start_at, a.node, a.cpu_milli,"      \
    " a.memory, a.devices, a.time_limit, a.cpu_us, a.peak, a.state,"     \
    " a.exit_code, a.signal, a.ended_by, a.reason, a.message, a.script," \
    " a.revision, a.lost, a.task, a.frozen_us"

/* Their numbers, in that order. */
enum column {
    COLUMN_ID,
    COLUMN_END,
    COLUMN_UID,
    COLUMN_USER,
    COLUMN_ACCOUNT,
    COLUMN_PARTITION,
    COLUMN_JOB,
    COLUMN_JOB_UID,
    COLUMN_INDEX,
    COLUMN_ATTEMPT,
    COLUMN_OBJECT,
    COLUMN_NAME,
    COLUMN_POD,
    COLUMN_KEY,
    COLUMN_SUBMIT,
    COLUMN_ELIGIBLE,
    COLUMN_START,
    COLUMN_NODE,
    COLUMN_CPU,
    COLUMN_MEMORY,
    COLUMN_DEVICES,
    COLUMN_TIME_LIMIT,
    COLUMN_CPU_USED,
    COLUMN_PEAK,
    COLUMN_STATE,
    COLUMN_EXIT_CODE,
    COLUMN_SIGNAL,
    COLUMN_ENDED_BY,
    COLUMN_REASON,
    COLUMN_MESSAGE,
    COLUMN_SCRIPT,
    COLUMN_REVISION,
    COLUMN_LOST,
    COLUMN_TASK,
    COLUMN_FROZEN,
};

/* ---- Life ---- */

void
history_reader_close(struct history_reader *r)
{
    if (r == NULL)
        return;
    (void)sqlite3_finalize(r->word);
    (void)sqlite3_finalize(r->find);
    for (size_t i = 0; i < r->n_words; i++)
        free(r->words[i]);
    free(r->words);
    sql_close(r->db);
    free(r);
}

static bool
is_over(const struct history_reader *r)
{
    return clock_monotonic_us(&clock_system) >= r->ends_us;
}

int
history_reader_open(const char *path,
                    struct history_reader **ret_reader,
                    struct error *err)
{
    struct history_reader *reader;
    int r;

    if (access(path, R_OK) < 0)
        return error_set(err, -errno, "there is no history yet");
    reader = xnew(struct history_reader);
    r = sql_open(path, &reader->db, err);
    if (r == 0)
        r = sql_exec(reader->db,
                     "PRAGMA query_only = ON;"
                     "PRAGMA trusted_schema = OFF;"
                     "PRAGMA busy_timeout = 2000;"
                     "PRAGMA temp_store = MEMORY;"
                     "PRAGMA mmap_size = 1073741824;"
                     "PRAGMA cache_size = -32768;",
                     err);
    if (r == 0)
        r = sql_prepare(reader->db,
                        "SELECT word FROM words WHERE id = ?1",
                        &reader->word,
                        err);
    if (r == 0)
        r = sql_prepare(reader->db,
                        "SELECT id FROM words WHERE word = ?1",
                        &reader->find,
                        err);
    if (r < 0) {
        history_reader_close(reader);
        return r;
    }
    *ret_reader = reader;
    return 0;
}

/* ---- Words ---- */

int64_t
history_reader_find_word(struct history_reader *r, const char *word)
{
    int64_t id = -1;

    (void)sqlite3_bind_text(r->find, 1, word, -1, SQLITE_STATIC);
    if (sqlite3_step(r->find) == SQLITE_ROW)
        id = sqlite3_column_int64(r->find, 0);
    (void)sqlite3_reset(r->find);
    return id;
}

/* Words never change, and are few. */
static void
keep_word(struct history_reader *r, int64_t id, const char *word)
{
    if ((size_t)id >= r->n_words) {
        const size_t n = (size_t)id * 2 + 64;

        r->words = xrealloc_array(r->words, n, sizeof(*r->words));
        memset(r->words + r->n_words, 0, (n - r->n_words) * sizeof(*r->words));
        r->n_words = n;
    }
    r->words[id] = xstrdup(word);
}

const char *
history_reader_word(struct history_reader *r, int64_t id, struct arena *arena)
{
    const char *word = NULL;

    if (id <= 0)
        return NULL;
    if ((size_t)id < r->n_words && r->words[id] != NULL)
        return r->words[id];
    (void)sqlite3_bind_int64(r->word, 1, id);
    if (sqlite3_step(r->word) == SQLITE_ROW)
        word = history_column_text(r->word, 0, arena);
    (void)sqlite3_reset(r->word);
    if (word != NULL && id < WORDS_KEPT)
        keep_word(r, id, word);
    return word;
}

/* ---- What is looked for ---- */

/* An index finds rows by one of these and by time; the others are looked at
 * here, so that a question can stop between any two rows. A word that stands
 * nowhere is -1, which no row has.
 */
struct row_filter {
    bool has_uid;
    int64_t uid;
    int64_t user, account, partition, node; /* 0: any */
    int64_t states[JOB_STATE_COUNT];
    unsigned n_states;
    const struct history_question *question;
    int64_t *accounts; /* of the rights */
};

static int64_t
find_if(struct history_reader *r, const char *word)
{
    return word != NULL ? history_reader_find_word(r, word) : 0;
}

/* Of a name that only one uid ever had, the uid, by which there is an index. */
static void
find_uid(struct history_reader *r, struct row_filter *f)
{
    sqlite3_stmt *s = NULL;
    unsigned n = 0;

    if (f->has_uid || f->user == 0
        || sql_prepare(r->db,
                       "SELECT uid FROM users WHERE user = ?1 LIMIT 2",
                       &s,
                       NULL)
               < 0)
        return;
    (void)sqlite3_bind_int64(s, 1, f->user);
    for (; sqlite3_step(s) == SQLITE_ROW; n++)
        f->uid = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    f->has_uid = n == 1;
}

static void
make_filter(struct history_reader *r,
            const struct history_question *q,
            struct arena *arena,
            struct row_filter *f)
{
    *f = (struct row_filter){
        .has_uid = q->has_uid,
        .uid = q->uid,
        .user = find_if(r, q->user),
        .account = find_if(r, q->account),
        .partition = find_if(r, q->partition),
        .node = find_if(r, q->node),
        .question = q,
        .accounts = arena_new_array(arena, int64_t, q->rights.n_accounts + 1),
    };
    find_uid(r, f);
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        if ((q->states & JOB_STATE_BIT(i)) != 0)
            f->states[f->n_states++] = history_reader_find_word(
                r,
                job_state_words((enum job_state)i)->name);
    for (size_t i = 0; i < q->rights.n_accounts; i++)
        f->accounts[i] = history_reader_find_word(r, q->rights.accounts[i]);
}

static bool
is_among(int64_t word, const int64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (words[i] == word)
            return true;
    return false;
}

static bool
is_readable(const struct row_filter *f, int64_t uid, int64_t account)
{
    const struct history_rights *rights = &f->question->rights;

    return rights->is_all || uid == rights->uid
           || is_among(account, f->accounts, rights->n_accounts);
}

static bool
has_name(const struct row_filter *f, sqlite3_stmt *s)
{
    const char *pattern = f->question->name;
    const unsigned char *name = sqlite3_column_text(s, COLUMN_NAME);

    if (pattern == NULL)
        return true;
    if (name == NULL)
        name = sqlite3_column_text(s, COLUMN_OBJECT);
    return name != NULL && wildcard_matches(pattern, (const char *)name);
}

static bool
is_or_any(int64_t wanted, sqlite3_stmt *s, int column)
{
    return wanted == 0 || sqlite3_column_int64(s, column) == wanted;
}

/* Of what is no array the index is the number that people know. */
static bool
is_task(sqlite3_stmt *s, int64_t task)
{
    const int column = sqlite3_column_type(s, COLUMN_TASK) != SQLITE_NULL
                           ? COLUMN_TASK
                           : COLUMN_INDEX;

    return sqlite3_column_type(s, column) != SQLITE_NULL
           && sqlite3_column_int64(s, column) == task;
}

static bool
is_between(int64_t index, int64_t first, int64_t last)
{
    return index == first || (index > first && index <= last);
}

static bool
is_wanted(const struct row_filter *f, sqlite3_stmt *s)
{
    const struct history_question *q = f->question;
    const int64_t uid = sqlite3_column_int64(s, COLUMN_UID);

    return (!f->has_uid || uid == f->uid) && is_or_any(f->user, s, COLUMN_USER)
           && is_or_any(f->account, s, COLUMN_ACCOUNT)
           && is_or_any(f->partition, s, COLUMN_PARTITION)
           && is_or_any(f->node, s, COLUMN_NODE)
           && is_or_any(q->job_id, s, COLUMN_JOB)
           && (!q->has_index
               || (sqlite3_column_type(s, COLUMN_INDEX) != SQLITE_NULL
                   && is_between(sqlite3_column_int64(s, COLUMN_INDEX),
                                 q->index,
                                 q->last_index)))
           && (!q->has_task || is_task(s, q->task))
           && (f->n_states == 0
               || is_among(sqlite3_column_int64(s, COLUMN_STATE),
                           f->states,
                           f->n_states))
           && is_readable(f, uid, sqlite3_column_int64(s, COLUMN_ACCOUNT))
           && has_name(f, s);
}

/* Numbers alone stand in the text. */
static void
write_list(struct history_reader *r,
           const struct row_filter *f,
           struct strbuf *sql)
{
    const struct history_question *q = f->question;
    const int64_t from =
        q->after_end_s > q->since_s ? q->after_end_s : q->since_s;
    const char *index = "by_end", *column = NULL;
    int64_t value = 0;

    if (q->job_id > 0)
        index = "by_job", column = "job", value = q->job_id;
    else if (f->has_uid)
        index = "by_uid", column = "uid", value = f->uid;
    else if (f->node != 0)
        index = "by_node", column = "node", value = f->node;
    else if (f->account != 0)
        index = "by_account", column = "account", value = f->account;
    else if (f->n_states == 1
             && history_index_is_there(r->db, HISTORY_INDEX_STATE))
        index = HISTORY_INDEX_STATE, column = "state", value = f->states[0];
    else if (f->partition != 0
             && history_index_is_there(r->db, HISTORY_INDEX_PARTITION))
        index = HISTORY_INDEX_PARTITION, column = "partition",
        value = f->partition;
    strbuf_printf(sql,
                  "SELECT " COLUMNS " FROM attempts AS a INDEXED BY %s"
                  " WHERE a.end_at >= %" PRId64,
                  index,
                  from);
    if (column != NULL)
        strbuf_printf(sql, " AND a.%s = %" PRId64, column, value);
    if (q->job_id > 0)
        strbuf_add_text(sql, " AND a.job > 0");
    if (q->until_s > 0)
        strbuf_printf(sql, " AND a.end_at < %" PRId64, q->until_s);
    if (q->after_id > 0)
        strbuf_printf(sql,
                      " AND (a.end_at > %" PRId64 " OR a.id > %" PRId64 ")",
                      q->after_end_s,
                      q->after_id);
    strbuf_add_text(sql, " ORDER BY a.end_at, a.id");
}

/* ---- Rows ---- */

static const char *
word_at(struct history_reader *r, sqlite3_stmt *s, int at, struct arena *arena)
{
    return history_reader_word(r, sqlite3_column_int64(s, at), arena);
}

static void
read_row(struct history_reader *r,
         sqlite3_stmt *s,
         struct arena *arena,
         struct history_row *row)
{
    const char *key = history_column_uid(s, COLUMN_KEY, arena);

    *row = (struct history_row){
        .id = sqlite3_column_int64(s, COLUMN_ID),
        .end_at_us = history_column_time(s, COLUMN_END),
        .uid = sqlite3_column_int64(s, COLUMN_UID),
        .user = word_at(r, s, COLUMN_USER, arena),
        .account = word_at(r, s, COLUMN_ACCOUNT, arena),
        .partition = word_at(r, s, COLUMN_PARTITION, arena),
        .job_id = sqlite3_column_int64(s, COLUMN_JOB),
        .job_uid = history_column_uid(s, COLUMN_JOB_UID, arena),
        .index = history_column_number(s, COLUMN_INDEX, arena),
        .task = history_column_number(s, COLUMN_TASK, arena),
        .attempt = sqlite3_column_int64(s, COLUMN_ATTEMPT),
        .frozen_us = sqlite3_column_int64(s, COLUMN_FROZEN),
        .object = history_column_text(s, COLUMN_OBJECT, arena),
        .name = history_column_text(s, COLUMN_NAME, arena),
        .pod = history_column_text(s, COLUMN_POD, arena),
        .submit_at_us = history_column_time(s, COLUMN_SUBMIT),
        .eligible_at_us = history_column_time(s, COLUMN_ELIGIBLE),
        .start_at_us = history_column_time(s, COLUMN_START),
        .node = word_at(r, s, COLUMN_NODE, arena),
        .cpu_milli = sqlite3_column_int64(s, COLUMN_CPU),
        .memory_bytes = sqlite3_column_int64(s, COLUMN_MEMORY),
        .devices = word_at(r, s, COLUMN_DEVICES, arena),
        .time_limit_s = sqlite3_column_int64(s, COLUMN_TIME_LIMIT),
        .cpu_time_us = history_column_number(s, COLUMN_CPU_USED, arena),
        .peak_memory_bytes = history_column_number(s, COLUMN_PEAK, arena),
        .state = word_at(r, s, COLUMN_STATE, arena),
        .exit_code = history_column_number(s, COLUMN_EXIT_CODE, arena),
        .signal = sqlite3_column_int64(s, COLUMN_SIGNAL),
        .ended_by = word_at(r, s, COLUMN_ENDED_BY, arena),
        .reason = word_at(r, s, COLUMN_REASON, arena),
        .message = history_column_text(s, COLUMN_MESSAGE, arena),
        .script = history_column_digest(s, COLUMN_SCRIPT, arena),
        .revision = sqlite3_column_int64(s, COLUMN_REVISION),
        .is_lost = sqlite3_column_int(s, COLUMN_LOST) != 0,
    };
    if (row->name == NULL)
        row->name = row->object;
    if (row->pod != NULL) {
        row->pod_uid = key;
        if (row->pod[0] == '-')
            row->pod = arena_printf(arena, "%s%s", row->object, row->pod);
    }
}

/* Others read of a row what they may read of the job's object. */
static void
redact(struct history_row *row, const struct history_rights *rights)
{
    if (rights->is_all || row->uid == rights->uid)
        return;
    row->message = NULL;
    row->script = NULL;
}

static void
print_row(struct history_row *row, struct arena *arena, struct strbuf *out)
{
    json_print(record_encode(&history_row_record, arena, row), out);
}

static void
add_head(struct strbuf *out, const char *kind)
{
    strbuf_printf(out,
                  "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":\"%s\",",
                  kind);
}

/* The rows of one page: as many as wanted, or as there is time for. */
struct page {
    int64_t shown, seen;
    int64_t end_s, id; /* of the row that was looked at last */
    bool is_cut;
};

static int
print_rows(struct history_reader *r,
           sqlite3_stmt *s,
           const struct row_filter *f,
           struct page *page,
           struct strbuf *out,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct arena_mark mark = arena_mark(arena);
    int step;

    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        struct history_row row;

        if (page->shown == f->question->limit
            || (++page->seen % ROWS_BETWEEN_LOOKS == 0 && is_over(r))) {
            page->is_cut = true;
            return 0;
        }
        page->end_s = sqlite3_column_int64(s, COLUMN_END);
        page->id = sqlite3_column_int64(s, COLUMN_ID);
        if (!is_wanted(f, s))
            continue;
        read_row(r, s, arena, &row);
        redact(&row, &f->question->rights);
        if (page->shown++ > 0)
            strbuf_add_char(out, ',');
        print_row(&row, arena, out);
        arena_rewind(arena, &mark);
    }
    return step == SQLITE_DONE ? 0 : sql_error(r->db, err);
}

int
history_reader_list(struct history_reader *r,
                    const struct history_question *q,
                    int64_t most_us,
                    struct strbuf *out,
                    struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;
    struct page page = {0};
    struct row_filter filter;
    sqlite3_stmt *s = NULL;
    int result;

    r->ends_us = clock_monotonic_us(&clock_system) + most_us;
    make_filter(r, q, arena, &filter);
    write_list(r, &filter, &sql);
    add_head(out, "HistoryList");
    strbuf_add_text(out, "\"items\":[");
    result = sql_prepare(r->db, sql.text, &s, err);
    if (result == 0)
        result = print_rows(r, s, &filter, &page, out, err);
    (void)sqlite3_finalize(s);
    strbuf_add_char(out, ']');
    if (page.is_cut)
        strbuf_printf(out,
                      ",\"metadata\":{\"continue\":\"%" PRId64 ".%" PRId64
                      "\"}",
                      page.end_s,
                      page.id);
    strbuf_add_char(out, '}');
    return result;
}
