/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes find rows by one or two of the conditions; each row is then compared with all of them
 * here, and not by SQLite. So a question can stop between any two rows when its time is over,
 * and say where it goes on, however few of the rows match.
 *
 * SQLite would sort all rows of several values of an index before it returned the first. One
 * cursor for each value, merged here, gives the first page after as many steps as it has rows.
 */
#include "controller/history/history_scan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_connection.h"
#include "controller/history/history_fields.h"
#include "controller/history/history_index.h"
#include "controller/history/history_question.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/job_state.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define CURSORS_MOST 64
#define NAMES_MOST   30000 /* most names that are compared with a pattern */
#define CURSORS_FEW  8

struct history_filter {
    const struct history_question *question;
    struct arena *arena;
    int64_t user, account, partition; /* 0: any */
    int64_t *nodes;                   /* sorted; those of a host list that rows have */
    size_t n_nodes;
    int64_t states[JOB_STATE_COUNT]; /* those that rows in the file have */
    size_t n_states;
    int64_t *accounts; /* of the asker's rights */
    uint64_t columns;  /* needed for the comparison */
    bool is_nothing;   /* no row can match */
    bool has_members;  /* the file has attempts of several nodes */
};

struct cursor {
    sqlite3_stmt *s;
    int64_t end, id;
};

struct history_scan {
    struct history_connection *connection;
    const struct history_filter *filter;
    uint64_t columns;
    int64_t after_end_s, after_id; /* only rows after this one */
    struct cursor cursors[CURSORS_MOST];
    size_t count;
    bool is_too_many; /* too many values for one cursor each */
    bool is_begun;
    bool is_by_names; /* the names in the index were visited */
    size_t current;   /* the cursor whose row was returned last */
    int64_t last_id;
};

/* A range of an index. */
struct place {
    const char *index;
    const char *column; /* NULL: all rows */
    int64_t value;
    const char *text; /* used instead of `value` if not NULL */
    bool has_state;
    int64_t state;
};

enum { AT_VALUE = 1, AT_FROM, AT_UNTIL, AT_AFTER, AT_ID, AT_STATE };

/* ---- The filter ---- */

static int64_t
find_if(struct history_connection *c, struct history_filter *f, const char *word)
{
    int64_t id;

    if (word == NULL)
        return 0;
    id = history_connection_find_word(c, word);
    f->is_nothing = f->is_nothing || id < 0;
    return id;
}

static void
find_states(struct history_connection *c, struct history_filter *f)
{
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        if ((f->question->states & JOB_STATE_BIT(i)) != 0) {
            const int64_t id =
                history_connection_find_word(c, job_state_words((enum job_state)i)->name);

            if (id >= 0)
                f->states[f->n_states++] = id;
        }
    f->is_nothing = f->is_nothing || (f->question->states != 0 && f->n_states == 0);
}

/* Most files have no such row, and then no row needs its last columns read. */
static bool
has_members(struct history_connection *c)
{
    sqlite3_stmt *s = NULL;
    bool found;

    if (history_connection_prepare(c,
                                   "SELECT 1 FROM attempts INDEXED BY by_member"
                                   " WHERE member > 0 LIMIT 1",
                                   &s, NULL)
        < 0)
        return false;
    found = sqlite3_step(s) == SQLITE_ROW;
    history_connection_release(c, s);
    return found;
}

static int
compare_words(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void
find_nodes(struct history_connection *c, struct history_filter *f, struct arena *arena)
{
    const char **names;
    size_t count;

    if (f->question->node == NULL)
        return;
    if (hostlist_expand(arena, f->question->node, &names, &count, NULL) == 0) {
        f->nodes = arena_new_array(arena, int64_t, count + 1);
        for (size_t i = 0; i < count; i++) {
            const int64_t id = history_connection_find_word(c, names[i]);

            if (id >= 0)
                f->nodes[f->n_nodes++] = id;
        }
    }
    f->is_nothing = f->is_nothing || f->n_nodes == 0;
    if (f->n_nodes > 0)
        qsort(f->nodes, f->n_nodes, sizeof(*f->nodes), compare_words);
}

static void
find_columns(struct history_filter *f)
{
    const struct history_question *q = f->question;

    f->columns = HISTORY_BIT(HISTORY_AT_ID) | HISTORY_BIT(HISTORY_AT_END)
                 | HISTORY_BIT(HISTORY_AT_UID) | HISTORY_BIT(HISTORY_AT_ACCOUNT);
    if (f->has_members)
        f->columns |= HISTORY_BIT(HISTORY_AT_NODES) | HISTORY_BIT(HISTORY_AT_MEMBER);
    if (f->user != 0)
        f->columns |= HISTORY_BIT(HISTORY_AT_USER);
    if (f->partition != 0)
        f->columns |= HISTORY_BIT(HISTORY_AT_PARTITION);
    if (f->n_nodes > 0)
        f->columns |= HISTORY_BIT(HISTORY_AT_NODE);
    if (f->n_states > 0)
        f->columns |= HISTORY_BIT(HISTORY_AT_STATE);
    if (q->job_id != 0)
        f->columns |= HISTORY_BIT(HISTORY_AT_JOB);
    if (q->name != NULL)
        f->columns |= HISTORY_BIT(HISTORY_AT_NAME) | HISTORY_BIT(HISTORY_AT_OBJECT);
    if (q->has_index || q->tasks != NULL)
        f->columns |= HISTORY_BIT(HISTORY_AT_INDEX) | HISTORY_BIT(HISTORY_AT_TASK)
                      | HISTORY_BIT(HISTORY_AT_TASKS);
}

void
history_filter_free(struct history_filter *f)
{
    if (f == NULL)
        return;
    arena_free(f->arena);
    free(f);
}

struct history_filter *
history_filter_new(struct history_connection *c, const struct history_question *q)
{
    struct history_filter *f = xnew(struct history_filter);

    f->question = q;
    f->arena = arena_new(0);
    f->user = find_if(c, f, q->user);
    f->account = find_if(c, f, q->account);
    f->partition = find_if(c, f, q->partition);
    find_nodes(c, f, f->arena);
    find_states(c, f);
    f->accounts = arena_new_array(f->arena, int64_t, q->rights.n_accounts + 1);
    for (size_t i = 0; i < q->rights.n_accounts; i++)
        f->accounts[i] = history_connection_find_word(c, q->rights.accounts[i]);
    f->has_members = has_members(c);
    find_columns(f);
    return f;
}

const struct history_question *
history_filter_question(const struct history_filter *f)
{
    return f->question;
}

/* ---- Cursors ---- */

static void
write_statement(const struct history_scan *scan, const struct place *place, struct strbuf *sql)
{
    const struct history_question *q = scan->filter->question;

    strbuf_add_text(sql, "SELECT ");
    history_fields_select(scan->columns, sql);
    strbuf_printf(sql, " FROM attempts AS a INDEXED BY %s WHERE a.end_at >= ?2", place->index);
    if (place->column != NULL)
        strbuf_printf(sql, " AND %s = ?1", place->column);
    if (place->has_state)
        strbuf_add_text(sql, " AND a.state = ?6");
    if (q->job_id > 0)
        strbuf_add_text(sql, " AND a.job > 0");
    if (q->until_s > 0)
        strbuf_add_text(sql, " AND a.end_at < ?3");
    if (scan->after_id > 0)
        strbuf_add_text(sql, " AND (a.end_at > ?4 OR a.id > ?5)");
    strbuf_add_text(sql, " ORDER BY a.end_at, a.id");
}

static int
add_cursor(struct history_scan *scan, const struct place *place, struct error *err)
{
    const struct history_question *q = scan->filter->question;
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;
    struct cursor *c = &scan->cursors[scan->count];
    int r;

    if (scan->is_too_many || scan->count == CURSORS_MOST) {
        scan->is_too_many = true;
        return 0;
    }
    write_statement(scan, place, &sql);
    r = history_connection_prepare(scan->connection, sql.text, &c->s, err);
    if (r < 0)
        return r;
    scan->count++;
    if (place->text != NULL)
        (void)sqlite3_bind_text(c->s, AT_VALUE, place->text, -1, SQLITE_TRANSIENT);
    else
        (void)sqlite3_bind_int64(c->s, AT_VALUE, place->value);
    (void)sqlite3_bind_int64(c->s, AT_FROM,
                             scan->after_end_s > q->since_s ? scan->after_end_s : q->since_s);
    (void)sqlite3_bind_int64(c->s, AT_UNTIL, q->until_s);
    (void)sqlite3_bind_int64(c->s, AT_AFTER, scan->after_end_s);
    (void)sqlite3_bind_int64(c->s, AT_ID, scan->after_id);
    (void)sqlite3_bind_int64(c->s, AT_STATE, place->state);
    return 0;
}

static void
drop_cursors(struct history_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        history_connection_release(scan->connection, scan->cursors[i].s);
    scan->count = 0;
    scan->is_too_many = false;
}

/* Adds a cursor for each state that rows of that value have; SQLite seeks to
 * the next state.
 */
static int
add_states(struct history_scan *scan, const char *column, struct place place, struct error *err)
{
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *s = NULL;
    int64_t state = -1;
    int r;

    strbuf_printf(&sql,
                  "SELECT state FROM attempts INDEXED BY %s"
                  " WHERE %s = ?1 AND state > ?2 ORDER BY state LIMIT 1",
                  place.index, column);
    r = history_connection_prepare(scan->connection, sql.text, &s, err);
    place.has_state = true;
    while (r == 0 && !scan->is_too_many) {
        (void)sqlite3_bind_int64(s, 1, place.value);
        (void)sqlite3_bind_int64(s, 2, state);
        if (sqlite3_step(s) != SQLITE_ROW)
            break;
        place.state = state = sqlite3_column_int64(s, 0);
        (void)sqlite3_reset(s);
        r = add_cursor(scan, &place, err);
    }
    history_connection_release(scan->connection, s);
    return r;
}

/* Uses the index with states, or, in a file that does not have it yet, the one
 * without.
 */
static int
add_values(struct history_scan *scan, const char *column, const char *wide, const char *narrow,
           int64_t value, struct error *err)
{
    const struct history_filter *f = scan->filter;
    CLEANUP_FREE char *qualified = xasprintf("a.%s", column);
    struct place place = {.index = wide, .column = qualified, .value = value};
    int r = 0;

    if (!history_index_is_there(history_connection_db(scan->connection), wide)) {
        place.index = narrow;
        return add_cursor(scan, &place, err);
    }
    if (f->n_states == 0)
        return add_states(scan, column, place, err);
    place.has_state = true;
    for (size_t i = 0; r == 0 && i < f->n_states; i++) {
        place.state = f->states[i];
        r = add_cursor(scan, &place, err);
    }
    return r;
}

static int
add_uid(struct history_scan *scan, int64_t uid, struct error *err)
{
    return add_values(scan, "uid", HISTORY_INDEX_UID_STATE, HISTORY_INDEX_UID, uid, err);
}

static int
add_account(struct history_scan *scan, int64_t account, struct error *err)
{
    return add_values(scan, "account", HISTORY_INDEX_ACCOUNT_STATE, HISTORY_INDEX_ACCOUNT, account,
                      err);
}

/* ---- The choice of an index ---- */

/* Adds cursors for all uids that have had the name. */
static int
add_users(struct history_scan *scan, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = history_connection_prepare(scan->connection, "SELECT uid FROM users WHERE user = ?1",
                                       &s, err);

    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(s, 1, scan->filter->user);
    while (r == 0 && !scan->is_too_many && sqlite3_step(s) == SQLITE_ROW)
        r = add_uid(scan, sqlite3_column_int64(s, 0), err);
    history_connection_release(scan->connection, s);
    return r;
}

static int
add_one(struct history_scan *scan, const char *index, const char *column, int64_t value,
        struct error *err)
{
    return add_cursor(scan, &(struct place){.index = index, .column = column, .value = value}, err);
}

/* The prefix of every name that matches the pattern. */
static char *
prefix_of(const char *pattern)
{
    return xstrndup(pattern, strcspn(pattern, "*?"));
}

/* The first name not before `name`; or, if is_behind, the first one after it.
 */
static int
find_name(struct history_scan *scan, const char *name, bool is_behind, sqlite3_stmt **ret_s,
          struct error *err)
{
    const char *const texts[] = {
        "SELECT " HISTORY_NAME " FROM attempts INDEXED BY " HISTORY_INDEX_NAME
        " WHERE " HISTORY_NAME " >= ?1 ORDER BY " HISTORY_NAME " LIMIT 1",
        "SELECT " HISTORY_NAME " FROM attempts INDEXED BY " HISTORY_INDEX_NAME
        " WHERE " HISTORY_NAME " > ?1 ORDER BY " HISTORY_NAME " LIMIT 1",
    };
    int r = history_connection_prepare(scan->connection, texts[is_behind], ret_s, err);

    if (r < 0)
        return r;
    (void)sqlite3_bind_text(*ret_s, 1, name, -1, SQLITE_STATIC);
    return sqlite3_step(*ret_s) == SQLITE_ROW && sqlite3_column_text(*ret_s, 0) != NULL;
}

/* Adds a cursor for each existing name that matches the pattern. With too many
 * names, or too many that match, the index is of no use; nor if visiting them
 * takes a quarter of the time, since that is repeated for each page.
 */
static int
add_names(struct history_scan *scan, struct error *err)
{
    const char *pattern = scan->filter->question->name;
    CLEANUP_FREE char *prefix = prefix_of(pattern);
    CLEANUP_FREE char *name = xstrdup(prefix);
    const int64_t now_us = clock_monotonic_us(&clock_system);
    const int64_t ends_us = now_us + (history_connection_ends_us(scan->connection) - now_us) / 4;
    int r = 1;

    scan->is_by_names = true;
    for (unsigned seen = 0; r == 1 && !scan->is_too_many; seen++) {
        sqlite3_stmt *s = NULL;

        r = find_name(scan, name, seen > 0, &s, err);
        if (r == 1) {
            free(name);
            name = xstrdup((const char *)sqlite3_column_text(s, 0));
        }
        history_connection_release(scan->connection, s);
        if (r < 1 || strncmp(name, prefix, strlen(prefix)) != 0)
            break;
        if (text_matches(pattern, name))
            r = add_cursor(scan,
                           &(struct place){.index = HISTORY_INDEX_NAME,
                                           .column = HISTORY_NAME_OF("a."),
                                           .text = name},
                           err);
        r = r == 0 ? 1 : r;
        scan->is_too_many = scan->is_too_many || seen == NAMES_MOST
                            || (seen % 64 == 63 && clock_monotonic_us(&clock_system) >= ends_us);
    }
    return r < 0 ? r : 0;
}

static int
add_rights(struct history_scan *scan, struct error *err)
{
    const struct history_rights *rights = &scan->filter->question->rights;
    int r = add_uid(scan, rights->uid, err);

    for (size_t i = 0; r == 0 && i < rights->n_accounts; i++)
        if (scan->filter->accounts[i] > 0)
            r = add_account(scan, scan->filter->accounts[i], err);
    return r;
}

static int
add_by_state(struct history_scan *scan, struct error *err)
{
    const struct history_filter *f = scan->filter;
    int r = 0;

    for (size_t i = 0; r == 0 && i < f->n_states; i++)
        r = add_one(scan, HISTORY_INDEX_STATE, "a.state", f->states[i], err);
    return r;
}

static int
add_nodes(struct history_scan *scan, struct error *err)
{
    const struct history_filter *f = scan->filter;
    int r = 0;

    for (size_t i = 0; r == 0 && i < f->n_nodes && !scan->is_too_many; i++)
        r = add_one(scan, "by_node", "a.node", f->nodes[i], err);
    return r;
}

static bool
has_index(const struct history_scan *scan, const char *name)
{
    return history_index_is_there(history_connection_db(scan->connection), name);
}

/* Chooses the index that leads to the fewest rows, as far as that can be known.
 */
static int
add_cursors(struct history_scan *scan, struct error *err)
{
    const struct history_filter *f = scan->filter;
    const struct history_question *q = f->question;

    if (q->job_id > 0)
        return add_one(scan, "by_job", "a.job", q->job_id, err);
    if (q->has_uid)
        return add_uid(scan, q->uid, err);
    if (f->user != 0)
        return add_users(scan, err);
    if (f->n_nodes > 0)
        return add_nodes(scan, err);
    if (f->account != 0)
        return add_account(scan, f->account, err);
    if (q->name != NULL && has_index(scan, HISTORY_INDEX_NAME))
        return add_names(scan, err);
    if (!q->rights.is_all)
        return add_rights(scan, err);
    if (f->n_states > 0 && has_index(scan, HISTORY_INDEX_STATE))
        return add_by_state(scan, err);
    if (f->partition != 0 && has_index(scan, HISTORY_INDEX_PARTITION))
        return add_one(scan, HISTORY_INDEX_PARTITION, "a.partition", f->partition, err);
    scan->is_too_many = true;
    return 0;
}

int
history_scan_open(struct history_connection *connection, const struct history_filter *filter,
                  enum history_scan_columns what, int64_t after_end_s, int64_t after_id,
                  struct history_scan **ret_scan, struct error *err)
{
    struct history_scan *scan = xnew(struct history_scan);
    int r = 0;

    scan->connection = connection;
    scan->filter = filter;
    scan->after_end_s = after_end_s;
    scan->after_id = after_id;
    scan->columns = HISTORY_BIT(HISTORY_AT_ID) | HISTORY_BIT(HISTORY_AT_END);
    if (what == HISTORY_SCAN_ROWS)
        scan->columns |= history_fields_needed(filter->question->members) | filter->columns;
    if (!filter->is_nothing)
        r = add_cursors(scan, err);
    if (r == 0 && scan->is_too_many) {
        drop_cursors(scan);
        r = add_cursor(scan, &(struct place){.index = "by_end"}, err);
    }
    if (r < 0) {
        history_scan_close(scan);
        return r;
    }
    *ret_scan = scan;
    return 0;
}

void
history_scan_close(struct history_scan *scan)
{
    if (scan == NULL)
        return;
    drop_cursors(scan);
    free(scan);
}

const struct history_question *
history_scan_question(const struct history_scan *scan)
{
    return scan->filter->question;
}

bool
history_scan_is_cheap(const struct history_scan *scan)
{
    return scan->count <= CURSORS_FEW && !scan->is_by_names;
}

/* ---- A row ---- */

static bool
is_among(int64_t word, const int64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (words[i] == word)
            return true;
    return false;
}

static bool
is_own(const struct history_filter *f, sqlite3_stmt *s)
{
    const struct history_rights *rights = &f->question->rights;

    return rights->is_all || sqlite3_column_int64(s, HISTORY_AT_UID) == rights->uid;
}

static bool
is_readable(const struct history_filter *f, sqlite3_stmt *s)
{
    return is_own(f, s)
           || is_among(sqlite3_column_int64(s, HISTORY_AT_ACCOUNT), f->accounts,
                       f->question->rights.n_accounts);
}

static bool
has_name(const struct history_filter *f, sqlite3_stmt *s)
{
    const char *pattern = f->question->name;
    const unsigned char *name;

    if (pattern == NULL)
        return true;
    name = sqlite3_column_text(s, HISTORY_AT_NAME);
    if (name == NULL)
        name = sqlite3_column_text(s, HISTORY_AT_OBJECT);
    return name != NULL && text_matches(pattern, (const char *)name);
}

static bool
is_or_any(int64_t wanted, sqlite3_stmt *s, int column)
{
    return wanted == 0 || sqlite3_column_int64(s, column) == wanted;
}

static bool
is_on_node(const struct history_filter *f, sqlite3_stmt *s)
{
    const int64_t node = f->n_nodes > 0 ? sqlite3_column_int64(s, HISTORY_AT_NODE) : 0;

    return f->n_nodes == 0
           || bsearch(&node, f->nodes, f->n_nodes, sizeof(*f->nodes), compare_words) != NULL;
}

/* For jobs that are not arrays, users know the index, so that is compared. */
static bool
is_task(sqlite3_stmt *s, const struct task_list *tasks)
{
    const int column =
        sqlite3_column_type(s, HISTORY_AT_TASK) != SQLITE_NULL ? HISTORY_AT_TASK : HISTORY_AT_INDEX;

    return sqlite3_column_type(s, column) != SQLITE_NULL
           && task_list_index(tasks, sqlite3_column_int64(s, column)) >= 0;
}

/* Whether the row of tasks that never started has one of these; a list that was
 * cut may have any.
 */
static bool
has_tasks(sqlite3_stmt *s, const struct task_list *tasks)
{
    const char *text = (const char *)sqlite3_column_text(s, HISTORY_AT_TASKS);
    CLEANUP(arena_freep) struct arena *arena = NULL;
    struct task_list list, both;

    if (text == NULL)
        return false;
    arena = arena_new(0);
    return strstr(text, "...") != NULL
           || (task_list_parse(arena, text, &list, NULL) == 0
               && task_sets_intersect(arena, &list, tasks, &both, NULL) == 0 && both.total > 0);
}

static bool
is_between(int64_t index, int64_t first, int64_t last)
{
    return index == first || (index > first && index <= last);
}

static bool
is_of_index(const struct history_question *q, sqlite3_stmt *s)
{
    return !q->has_index
           || (sqlite3_column_type(s, HISTORY_AT_INDEX) != SQLITE_NULL
               && is_between(sqlite3_column_int64(s, HISTORY_AT_INDEX), q->index, q->last_index));
}

/* An attempt of several nodes is shown as a whole, unless it is asked for nodes or
 * pods.
 */
static bool
is_whole_enough(const struct history_filter *f, sqlite3_stmt *s)
{
    const struct history_question *q = f->question;

    if (!f->has_members || sqlite3_column_type(s, HISTORY_AT_NODES) == SQLITE_NULL)
        return true;
    return (sqlite3_column_int64(s, HISTORY_AT_MEMBER) > 0)
           == (q->with_members || q->node != NULL || q->has_index || q->tasks != NULL);
}

static bool
is_wanted(const struct history_filter *f, sqlite3_stmt *s)
{
    const struct history_question *q = f->question;

    return (!q->has_uid || sqlite3_column_int64(s, HISTORY_AT_UID) == q->uid)
           && is_or_any(f->user, s, HISTORY_AT_USER) && is_or_any(f->account, s, HISTORY_AT_ACCOUNT)
           && is_or_any(f->partition, s, HISTORY_AT_PARTITION) && is_on_node(f, s)
           && is_or_any(q->job_id, s, HISTORY_AT_JOB) && is_of_index(q, s)
           && (q->tasks == NULL || is_task(s, q->tasks) || has_tasks(s, q->tasks))
           && (f->n_states == 0
               || is_among(sqlite3_column_int64(s, HISTORY_AT_STATE), f->states, f->n_states))
           && is_readable(f, s) && has_name(f, s) && is_whole_enough(f, s);
}

/* ---- Rows ---- */

/* Moves the cursor to its next row; a cursor without one is removed. */
static int
advance(struct history_scan *scan, size_t i, struct error *err)
{
    struct cursor *c = &scan->cursors[i];
    const int step = sqlite3_step(c->s);

    if (step == SQLITE_ROW) {
        c->end = sqlite3_column_int64(c->s, HISTORY_AT_END);
        c->id = sqlite3_column_int64(c->s, HISTORY_AT_ID);
        return 0;
    }
    if (step != SQLITE_DONE)
        return sql_error(history_connection_db(scan->connection), err);
    history_connection_release(scan->connection, c->s);
    *c = scan->cursors[--scan->count];
    return 0;
}

static bool
is_before(const struct cursor *a, const struct cursor *b)
{
    return a->end < b->end || (a->end == b->end && a->id < b->id);
}

int
history_scan_next(struct history_scan *scan, sqlite3_stmt **ret_row, struct error *err)
{
    int r = 0;

    if (scan->is_begun)
        r = advance(scan, scan->current, err);
    else
        for (size_t i = scan->count; r == 0 && i-- > 0;)
            r = advance(scan, i, err);
    scan->is_begun = true;
    while (r == 0 && scan->count > 0) {
        size_t first = 0;

        for (size_t i = 1; i < scan->count; i++)
            if (is_before(&scan->cursors[i], &scan->cursors[first]))
                first = i;
        scan->current = first;
        if (scan->cursors[first].id != scan->last_id) {
            scan->last_id = scan->cursors[first].id;
            *ret_row = scan->cursors[first].s;
            return 1;
        }
        r = advance(scan, first, err);
    }
    return r;
}

bool
history_scan_wants(const struct history_scan *scan, sqlite3_stmt *row)
{
    return is_wanted(scan->filter, row);
}

bool
history_scan_is_own(const struct history_scan *scan, sqlite3_stmt *row)
{
    return is_own(scan->filter, row);
}
