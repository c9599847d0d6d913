/* SPDX-License-Identifier: Apache-2.0 */
/* An attempt is in history when it has ended and in the queue until then, and the two are
 * asked one after the other. A job that ends, or is started again, between both requests would
 * be missing or there twice. So ended jobs are asked for between them as well, rows of one
 * attempt are joined by what identifies it, and what still looks active is asked for once
 * more.
 */
#include "cli/slurm_tables/account_fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/account_list.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Jobs that exist are asked for one by one up to this number. */
#define MOST_SINGLE 20
#define SECOND_US   INT64_C(1000000)

/* History has the row of an attempt a moment after its end, later when ends come in a storm. */
#define LATE_ROWS_US (60 * SECOND_US)

struct account_fetching {
    struct slurm_client *client;
    const struct account_query *query;
    struct arena *arena;
    struct account_rows *rows;
    struct queue_rows live; /* jobs that wait or run, and others with needs_jobs */
    int64_t now_us;
    const char *accounts; /* with all their names */
};

void
account_rows_fini(struct account_rows *rows)
{
    free(rows->items);
    *rows = (struct account_rows){0};
}

/* ---- Selection ---- */

static bool
is_on_node(const struct account_query *q, const char *nodes, struct arena *arena)
{
    const char **names = NULL;
    size_t count = 0;

    if (q->n_nodes == 0)
        return true;
    if (nodes[0] == '\0' || hostlist_expand(arena, nodes, &names, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < q->n_nodes; k++)
            if (strcmp(names[i], q->nodes[k]) == 0)
                return true;
    return false;
}

/* Of a list of waiting tasks those are left that were asked for. */
static bool
narrow(const struct account_query *q, struct account_row *row, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list all, chosen = {0}, both;

    if (task_list_parse(arena, row->tasks, &all, NULL) < 0)
        return false;
    for (size_t i = 0; i < q->jobs.count; i++)
        if (q->jobs.items[i].id == row->id
            && (task_sets_intersect(arena, &all, &q->jobs.items[i].tasks, &both, NULL) < 0
                || task_sets_unite(arena, &chosen, &both, &chosen, NULL) < 0))
            return true; /* too many ranges: it is shown as it is */
    if (chosen.total == 0)
        return false;
    task_list_format(&chosen, &text);
    row->tasks = arena_strdup(arena, text.text);
    if (chosen.total == 1 && !job_state_is_ended(row->state)) {
        row->task = task_list_at(&chosen, 0);
        row->tasks = NULL;
    }
    return true;
}

static bool
is_chosen(const struct account_query *q, struct account_row *row, struct arena *arena)
{
    return q->jobs.count == 0 || job_choices_have(&q->jobs, row->id, row->task)
           || (row->tasks != NULL && narrow(q, row, arena));
}

/* Slurm shows jobs that wait for something else than room only by their id. */
static bool
may_start(const struct account_row *row)
{
    return strcmp(row->reason, "JobHeldUser") != 0 && strcmp(row->reason, "JobHeldAdmin") != 0
           && strncmp(row->reason, "Dependency", strlen("Dependency")) != 0
           && strcmp(row->reason, "BeginTime") != 0
           && strcmp(row->reason, "JobArrayTaskLimit") != 0;
}

static bool
is_within(const struct account_range *range, int64_t n)
{
    return range->most == 0 || (n >= range->least && n <= range->most);
}

/* The limit in whole minutes, as it is shown. */
static bool
has_wanted_size(const struct account_query *q, const struct account_row *row)
{
    return is_within(&q->node_range, row->nodes) && is_within(&q->cpu_range, row->cpus)
           && is_within(&q->limit_range, (row->limit_s + 59) / 60 * 60)
           && (q->qos == NULL
               || (row->live != NULL && name_list_has(q->qos, queue_row_qos(row->live))));
}

/* As Slurm's database selects: a job waited from when it was eligible until it started, ran from
 * then until it ended, and has its last state from then on.
 */
static bool
was_in_state(const struct account_query *q, const struct account_row *row)
{
    const bool has_ended = job_state_is_ended(row->state) || row->end_us != 0;
    /* A task of an array that has just ended has no time of its end yet. */
    const int64_t end_us = row->end_us != 0 ? row->end_us : q->until_us;
    const int64_t eligible_us = row->eligible_us != 0 ? row->eligible_us : row->submit_us;
    const bool ran =
        row->start_us != 0 && row->start_us <= q->until_us && (!has_ended || end_us >= q->since_us);

    if ((q->states & JOB_STATE_BIT(row->state)) != 0
        && (has_ended                ? end_us >= q->since_us && end_us <= q->until_us
            : account_row_waits(row) ? may_start(row) && row->submit_us <= q->until_us
                                     : row->start_us <= q->until_us))
        return true;
    if ((q->states & JOB_STATE_BIT(JOB_STATE_RUNNING)) != 0 && ran)
        return true;
    if ((q->states & JOB_STATE_BIT(JOB_STATE_FROZEN)) != 0 && ran && row->suspended_us > 0)
        return true;
    return (q->states & JOB_STATE_BIT(JOB_STATE_PENDING)) != 0 && row->start_us != 0
           && eligible_us <= q->until_us && row->start_us >= q->since_us;
}

static bool
is_in_window(const struct account_query *q, const struct account_row *row)
{
    const int64_t began = row->start_us != 0 ? row->start_us : row->submit_us;

    if (q->states != 0)
        return was_in_state(q, row);
    if (q->jobs.count == 0 && account_row_waits(row) && !may_start(row))
        return false;
    return (q->until_us == 0 || began <= q->until_us)
           && (!job_state_is_ended(row->state) || row->end_us >= q->since_us
               || (row->live != NULL && row->end_us == 0));
}

static bool
is_wanted(const struct account_fetching *f, struct account_row *row)
{
    const struct account_query *q = f->query;

    return is_in_window(q, row) && has_wanted_size(q, row) && name_list_has(q->users, row->user)
           && name_list_has(f->accounts, row->account)
           && name_list_has(q->partitions, row->partition)
           && name_list_has_any_case(q->names, row->name) && is_on_node(q, row->node, f->arena)
           && is_chosen(q, row, f->arena);
}

static void
add(struct account_fetching *f, const struct account_row *row)
{
    xgrow(f->rows->items, f->rows->count, f->rows->capacity);
    f->rows->items[f->rows->count++] = *row;
}

/* ---- Jobs that exist ---- */

static const char *
only_one(const char *list)
{
    return list != NULL && strchr(list, ',') == NULL ? list : NULL;
}

static int
compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The rows from `first` on are of Jobs that have ended. Those that had still been active when the
 * others were asked for are in the list twice.
 */
static void
drop_ended_since(struct account_fetching *f, size_t first)
{
    struct queue_rows *live = &f->live;
    const size_t n_ended = live->count - first;
    int64_t *ids = arena_new_array(f->arena, int64_t, n_ended + 1);
    size_t kept = 0;

    for (size_t i = 0; i < n_ended; i++)
        ids[i] = live->items[first + i].id;
    qsort(ids, n_ended, sizeof(*ids), compare_ids);
    for (size_t i = 0; i < live->count; i++)
        if (i >= first
            || bsearch(&live->items[i].id, ids, n_ended, sizeof(*ids), compare_ids) == NULL)
            live->items[kept++] = live->items[i];
    live->count = kept;
}

/* After the active ones and before history, so that a job is in at least one of the three. */
static int
fetch_just_ended(struct account_fetching *f, struct queue_query query, struct error *err)
{
    const size_t first = f->live.count;
    const int64_t since_us = f->now_us - LATE_ROWS_US;
    int r;

    query.states = JOB_STATES_ENDED;
    query.is_finished = true;
    query.since_us = query.since_us > since_us ? query.since_us : since_us;
    r = queue_fetch(f->client, &query, f->arena, &f->live, err);
    if (r == 0 && f->live.count > first)
        drop_ended_since(f, first);
    return r;
}

/* History has the row of a job a moment after its end: until then, the job is shown as it is. */
static int
fetch_live(struct account_fetching *f, struct error *err)
{
    const struct account_query *q = f->query;
    const struct queue_query query = {
        .need = QUEUE_NEEDS_JOB,
        .states = JOB_STATES_ACTIVE | (q->needs_jobs || q->jobs.count > 0 ? JOB_STATES_ENDED : 0),
        .user = only_one(q->users),
        .partition = only_one(q->partitions),
        .node = q->n_nodes == 1 ? q->nodes[0] : NULL,
        .since_us = q->since_us != 0 ? q->since_us : 1,
    };

    if (q->jobs.count == 0 || q->jobs.count > MOST_SINGLE) {
        const int r = queue_fetch(f->client, &query, f->arena, &f->live, err);

        return r == 0 && (query.states & JOB_STATES_ENDED) == 0 ? fetch_just_ended(f, query, err)
                                                                : r;
    }
    for (size_t i = 0; i < q->jobs.count; i++) {
        bool is_double = false;
        int r;

        for (size_t k = 0; k < i; k++)
            is_double = is_double || q->jobs.items[k].id == q->jobs.items[i].id;
        r = is_double
                ? 0
                : queue_fetch_job(f->client, &query, q->jobs.items[i].id, f->arena, &f->live, err);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

/* ---- History ---- */

static bool
visit(const struct json *json, void *context)
{
    struct account_fetching *f = context;
    const struct account_row row = account_row_of_history(json_dup(f->arena, json), f->arena);

    add(f, &row);
    return true;
}

static int
fetch_history(struct account_fetching *f, struct error *err)
{
    const struct account_query *q = f->query;
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    int r = 0;

    history_query_add(&query, "user", only_one(q->users));
    history_query_add(&query, "account", only_one(q->accounts));
    history_query_add(&query, "partition", only_one(q->partitions));
    if (q->n_nodes == 1)
        history_query_add(&query, "node", q->nodes[0]);
    history_query_add_time(&query, "since", q->since_us);
    history_query_add(&query, "limit", "5000");
    if (q->jobs.count == 0)
        return history_pages_visit(&f->client->kctl, query.text, visit, f, err);
    for (size_t i = 0; i < q->jobs.count && r == 0; i++) {
        CLEANUP_STRBUF struct strbuf one = STRBUF_INIT;
        bool is_double = false;

        for (size_t k = 0; k < i; k++)
            is_double = is_double || q->jobs.items[k].id == q->jobs.items[i].id;
        if (is_double)
            continue;
        strbuf_add(&one, query.text, query.length);
        history_query_add(&one, "job", arena_printf(f->arena, "%" PRId64, q->jobs.items[i].id));
        r = history_pages_visit(&f->client->kctl, one.text, visit, f, err);
    }
    return r;
}

/* ---- Both ---- */

/* Attempts that have not started come last. */
static int64_t
start_key(const struct account_row *row)
{
    return row->start_us != 0 ? row->start_us / SECOND_US : INT64_MAX;
}

/* History after the job itself, and then what the job is since. */
static int
rank_of(const struct account_row *row)
{
    return row->is_since ? 2 : row->live == NULL;
}

static int
compare(const void *a, const void *b)
{
    const struct account_row *x = a, *y = b;
    const int64_t first = x->tasks != NULL ? INT64_MAX : x->task;
    const int64_t second = y->tasks != NULL ? INT64_MAX : y->task;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (first != second)
        return first < second ? -1 : 1;
    if (start_key(x) != start_key(y))
        return start_key(x) < start_key(y) ? -1 : 1;
    return rank_of(x) - rank_of(y);
}

static bool
is_of_same(const struct account_row *a, const struct account_row *b)
{
    return a->id == b->id && a->task == b->task && a->tasks == NULL && b->tasks == NULL;
}

/* The store knows how a task of an array ended when its pod is removed, and only history when. */
static bool
is_without_times(const struct account_row *live)
{
    return live->start_us == 0 && live->end_us == 0 && job_state_is_ended(live->state);
}

/* A row of the job itself, and one of history about the same attempt. */
static bool
is_same_attempt(const struct account_row *a, const struct account_row *b)
{
    const struct account_row *live = a->live != NULL ? a : b;

    return is_of_same(a, b) && !a->is_since && !b->is_since
           && (a->live == NULL) != (b->live == NULL)
           && (start_key(a) == start_key(b) || (is_without_times(live) && a->state == b->state));
}

/* A job may end between the two requests, and may be started again then, also within the same
 * second: it is asked for once more. History has an attempt only after it has ended, so if the job
 * is active now, that is another attempt. Rows are sorted.
 */
static int
settle_ended(struct account_fetching *f, struct error *err)
{
    const struct queue_query query = {.need = QUEUE_NEEDS_JOB, .states = JOB_STATES_ACTIVE};
    const size_t count = f->rows->count;
    int r = 0;

    for (size_t i = 1; i < count && (r == 0 || r == -ENOENT); i++) {
        const struct account_row row = f->rows->items[i];
        const struct account_row *before = &f->rows->items[i - 1];
        struct queue_rows again = {0};

        if (!is_same_attempt(before, &row) || job_state_is_ended(before->state))
            continue;
        r = queue_fetch_job(f->client, &query, row.id, f->arena, &again, err);
        for (size_t k = 0; k < again.count && r == 0; k++)
            if (again.items[k].task == row.task && again.items[k].tasks == NULL) {
                struct queue_row *copy = arena_alloc(f->arena, sizeof(*copy));
                struct account_row now;

                *copy = again.items[k];
                now = account_row_of_queue(copy, f->now_us);
                now.is_since = true;
                add(f, &now);
            }
        queue_rows_fini(&again);
    }
    return r == -ENOENT ? 0 : r;
}

/* History has one row for all tasks of an array that never started; the Job has them one by one.
 * Rows are sorted, and such a row is the last of its job.
 */
static void
drop_unstarted(struct account_rows *rows)
{
    int64_t id_of_list = 0;

    for (size_t i = rows->count; i-- > 0;) {
        struct account_row *row = &rows->items[i];

        if (row->tasks != NULL && row->live == NULL)
            id_of_list = row->id;
        else if (row->id == id_of_list && row->live != NULL && row->start_us == 0
                 && job_state_is_ended(row->state))
            row->state = JOB_STATE_NONE;
    }
}

/* Of the wanted attempts of a job only the last is left, unless all are to be shown. History replaces the
 * row of the job itself.
 */
static void
choose(struct account_fetching *f)
{
    struct account_rows *rows = f->rows;
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct account_row *row = &rows->items[i];
        struct account_row *before = kept > 0 ? &rows->items[kept - 1] : NULL;

        if (before != NULL && is_same_attempt(before, row)) {
            const struct queue_row *live = row->live != NULL ? row->live : before->live;

            if (row->live == NULL)
                *before = *row;
            before->live = live;
            before->is_allocation = queue_row_is_allocation(live);
            continue;
        }
        rows->items[kept++] = *row;
    }
    rows->count = kept;
    drop_unstarted(rows);
    kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i].state == JOB_STATE_NONE || !is_wanted(f, &rows->items[i]))
            continue;
        if (kept > 0 && is_of_same(&rows->items[kept - 1], &rows->items[i])
            && !f->query->has_all_attempts)
            kept--;
        rows->items[kept++] = rows->items[i];
    }
    rows->count = kept;
}

int
account_fetch(struct slurm_client *client, const struct account_query *query, struct arena *arena,
              struct account_rows *rows, struct error *err)
{
    struct account_fetching f = {
        .client = client,
        .query = query,
        .arena = arena,
        .accounts = account_list_names(&client->kctl, query->accounts, arena),
        .rows = rows,
        .now_us = clock_real_us(&clock_system),
    };
    const struct queue_row *live;
    int r = fetch_live(&f, err);

    /* The rows live as long as the arena. */
    live = f.live.count > 0
               ? arena_memdup(arena, f.live.items, f.live.count * sizeof(*f.live.items))
               : NULL;
    for (size_t i = 0; i < f.live.count; i++) {
        const struct account_row row = account_row_of_queue(&live[i], f.now_us);

        add(&f, &row);
    }
    queue_rows_fini(&f.live);
    if (r == 0)
        r = fetch_history(&f, err);
    if (r == 0 && rows->count > 1) {
        qsort(rows->items, rows->count, sizeof(*rows->items), compare);
        r = settle_ended(&f, err);
        qsort(rows->items, rows->count, sizeof(*rows->items), compare);
    }
    if (r == 0)
        choose(&f);
    return r;
}
