/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_filter.h"

#include <stdlib.h>
#include <string.h>

#include "controller/history/history_fields.h"
#include "controller/history/history_question.h"
#include "controller/history/history_reader_state.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/text.h"

static int64_t
find_if(struct history_reader *r, struct history_filter *f, const char *word)
{
    int64_t id;

    if (word == NULL)
        return 0;
    id = history_reader_find_word(r, word);
    f->is_nothing = f->is_nothing || id < 0;
    return id;
}

static void
find_states(struct history_reader *r, struct history_filter *f)
{
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        if ((f->question->states & JOB_STATE_BIT(i)) != 0) {
            const int64_t id =
                history_reader_find_word(r, job_state_words((enum job_state)i)->name);

            if (id >= 0)
                f->states[f->n_states++] = id;
        }
    f->is_nothing = f->is_nothing || (f->question->states != 0 && f->n_states == 0);
}

/* Most files have no such row, and then no row needs its last columns read. */
static bool
has_members(struct history_reader *r)
{
    sqlite3_stmt *s = NULL;
    bool found;

    if (history_reader_prepare(r,
                               "SELECT 1 FROM attempts INDEXED BY by_member"
                               " WHERE member > 0 LIMIT 1",
                               &s, NULL)
        < 0)
        return false;
    found = sqlite3_step(s) == SQLITE_ROW;
    history_reader_release(r, s);
    return found;
}

static int
compare_words(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void
find_nodes(struct history_reader *r, struct history_filter *f, struct arena *arena)
{
    const char **names;
    size_t count;

    if (f->question->node == NULL)
        return;
    if (hostlist_expand(arena, f->question->node, &names, &count, NULL) == 0) {
        f->nodes = arena_new_array(arena, int64_t, count + 1);
        for (size_t i = 0; i < count; i++) {
            const int64_t id = history_reader_find_word(r, names[i]);

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
history_filter_make(struct history_reader *r, const struct history_question *q, struct arena *arena,
                    struct history_filter *f)
{
    *f = (struct history_filter){.question = q};
    f->user = find_if(r, f, q->user);
    f->account = find_if(r, f, q->account);
    f->partition = find_if(r, f, q->partition);
    find_nodes(r, f, arena);
    find_states(r, f);
    f->accounts = arena_new_array(arena, int64_t, q->rights.n_accounts + 1);
    for (size_t i = 0; i < q->rights.n_accounts; i++)
        f->accounts[i] = history_reader_find_word(r, q->rights.accounts[i]);
    f->has_members = has_members(r);
    find_columns(f);
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

bool
history_filter_is_own(const struct history_filter *f, sqlite3_stmt *s)
{
    const struct history_rights *rights = &f->question->rights;

    return rights->is_all || sqlite3_column_int64(s, HISTORY_AT_UID) == rights->uid;
}

static bool
is_readable(const struct history_filter *f, sqlite3_stmt *s)
{
    return history_filter_is_own(f, s)
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

bool
history_filter_wants(const struct history_filter *f, sqlite3_stmt *s)
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
