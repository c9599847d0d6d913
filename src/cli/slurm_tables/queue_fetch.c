/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster has a hundred thousand waiting jobs, and squeue is run in loops. So it reads the
 * server's table, which has cells and no objects, page by page; arrays, of which a table has
 * only a part, are asked for one by one if they are few, and otherwise the list is read again
 * with the objects.
 */
#include "cli/slurm_tables/queue_fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/output/listing.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define PAGE      5000
#define SECOND_US INT64_C(1000000)

/* So many arrays are asked for one by one, after a list without objects. */
#define MOST_SINGLE 4

/* The columns of the server's table that rows are made from. */
enum queue_cell {
    CELL_ID,
    CELL_NAME,
    CELL_USER,
    CELL_PARTITION,
    CELL_STATE,
    CELL_LIMIT,
    CELL_CPUS,
    CELL_NODE,
    CELL_REASON,
    CELL_EXIT,
    CELL_PRIORITY,
    CELL_ATTEMPTS,
    CELL_CODE,
    CELL_STARTED,
    CELL_ENDED,
    CELL_START,
    CELL_TIME,
    CELL_NODES,
    CELL_WAITING,
    N_CELLS
};
static const char *const cell_names[N_CELLS] = {
    [CELL_ID] = "ID",
    [CELL_NAME] = "Name",
    [CELL_USER] = "User",
    [CELL_PARTITION] = "Partition",
    [CELL_STATE] = "State",
    [CELL_LIMIT] = "Limit",
    [CELL_CPUS] = "CPUs",
    [CELL_NODE] = "Node",
    [CELL_REASON] = "Reason",
    [CELL_EXIT] = "Exit",
    [CELL_PRIORITY] = "Priority",
    [CELL_ATTEMPTS] = "Attempts",
    [CELL_CODE] = "Code",
    [CELL_STARTED] = "Started",
    [CELL_ENDED] = "Ended",
    [CELL_START] = "Start",
    [CELL_TIME] = "Time",
    [CELL_NODES] = "Nodes",
    [CELL_WAITING] = "Waiting",
};

struct fetching {
    struct slurm_client *client;
    const struct queue_query *query;
    struct arena *arena; /* of this page, if its rows are kept without it */
    struct queue_rows *rows;
    int at[N_CELLS]; /* index in a row, or -1 */
    int64_t now_us, since_us;
    int64_t arrays[MOST_SINGLE]; /* of which only the cells are known */
    size_t n_arrays;
    bool is_refused; /* this user may not read the tasks of other users' arrays */
};

void
queue_rows_fini(struct queue_rows *rows)
{
    free(rows->items);
    *rows = (struct queue_rows){0};
}

/* ---- Cells ---- */

static const char *
text_at(const struct fetching *f, const struct json *cells, enum queue_cell cell)
{
    const char *text = f->at[cell] >= 0 ? json_text(json_at(cells, (uint32_t)f->at[cell])) : NULL;

    return text != NULL ? text : "";
}

static int64_t
number_at(const struct fetching *f, const struct json *cells, enum queue_cell cell)
{
    int64_t n = 0;

    if (f->at[cell] >= 0)
        (void)json_to_int(json_at(cells, (uint32_t)f->at[cell]), &n);
    return n;
}

static int64_t
time_at(const struct fetching *f, const struct json *cells, enum queue_cell cell)
{
    const char *text = text_at(f, cells, cell);
    int64_t us = 0;

    text += *text == '~';
    return text[0] != '\0' && time_parse(text, &us) == 0 ? us : 0;
}

/* "4", "500m", "shared": whole CPUs, at least one. */
static int64_t
cpus_of(const char *text)
{
    char *end;
    int64_t n = strtoll(text, &end, 10);

    if (*end == 'm')
        n = (n + 999) / 1000;
    return n > 0 ? n : 1;
}

static void
find_cells(struct fetching *f, const struct json *table)
{
    const struct json *definitions = json_get(table, "columnDefinitions");

    if (json_count(definitions) == 0) /* only the first page has them */
        return;
    for (size_t c = 0; c < N_CELLS; c++) {
        f->at[c] = -1;
        for (uint32_t i = 0; i < json_count(definitions); i++) {
            const char *name = json_get_text(json_at(definitions, i), "name");

            if (name != NULL && strcmp(name, cell_names[c]) == 0)
                f->at[c] = (int)i;
        }
    }
}

/* ---- Rows ---- */

/* A list of nodes that was cut for a table, "n[1-3]... (12 more)". */
static bool
is_cut(const char *nodes)
{
    return strstr(nodes, " more)") != NULL;
}

static const char *
whole_nodes(struct fetching *f, const struct json *object)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const struct target_object job = {
        .kind = &job_kind,
        .namespace = json_path_text(object, "metadata.namespace"),
        .name = json_path_text(object, "metadata.name"),
    };
    struct json *pods = NULL;
    const char **names;
    size_t count = 0;

    if (job.name == NULL || job_pods(&f->client->kctl, &job, f->arena, &pods, NULL) < 0)
        return NULL;
    names = arena_new_array(f->arena, const char *, json_count(pods) + 1);
    for (uint32_t i = 0; i < json_count(pods); i++) {
        const char *node = json_path_text(json_at(pods, i), "spec.nodeName");

        if (node != NULL && node[0] != '\0')
            names[count++] = node;
    }
    hostlist_format(names, count, 0, &list);
    return arena_strdup(f->arena, list.text);
}

/* A suspended job has none in Slurm. */
static const char *
reason_of(const struct fetching *f, const struct json *cells)
{
    const char *words = text_at(f, cells, CELL_REASON);

    if (strncmp(words, "throttle of ", strlen("throttle of ")) == 0)
        return "JobArrayTaskLimit";
    if (job_state_of_name(text_at(f, cells, CELL_STATE)) == JOB_STATE_FROZEN)
        return "None";
    return slurm_words_reason(text_at(f, cells, CELL_CODE));
}

static struct queue_row
read_row(struct fetching *f, const struct json *cells, const struct json *object)
{
    const char *id = text_at(f, cells, CELL_ID);
    const char *underscore = strchr(id, '_');
    const char *name =
        json_get_text(json_get_path(object, "metadata.annotations"), ANNOTATION_JOB_NAME);
    const char *namespace = json_path_text(object, "metadata.namespace");
    const char *account =
        json_get_text(json_get_path(object, "metadata.annotations"), ANNOTATION_ACCOUNT);
    const char *submitted = json_path_text(object, "metadata.creationTimestamp");
    const char *exit = text_at(f, cells, CELL_EXIT);
    const char *waiting = text_at(f, cells, CELL_WAITING);
    struct queue_row row = {
        .id = strtoll(id, NULL, 10),
        .task = -1,
        .state = job_state_of_name(text_at(f, cells, CELL_STATE)),
        .name = name != NULL ? name : text_at(f, cells, CELL_NAME),
        .user = text_at(f, cells, CELL_USER),
        .account = account != NULL     ? account
                   : namespace != NULL ? namespace
                                       : "",
        .partition = text_at(f, cells, CELL_PARTITION),
        .node = text_at(f, cells, CELL_NODE),
        .reason = reason_of(f, cells),
        .cpus = cpus_of(text_at(f, cells, CELL_CPUS)),
        .nodes = number_at(f, cells, CELL_NODES),
        .priority = number_at(f, cells, CELL_PRIORITY),
        .start_us = time_at(f, cells, CELL_STARTED),
        .end_us = time_at(f, cells, CELL_ENDED),
        .expected_us = time_at(f, cells, CELL_START),
        .elapsed_s = slurm_time_parse_elapsed(text_at(f, cells, CELL_TIME)),
        .limit_s = slurm_time_parse_elapsed(text_at(f, cells, CELL_LIMIT)),
        .attempts = number_at(f, cells, CELL_ATTEMPTS),
        .exit_code = strtoll(exit, NULL, 10),
        .keeps_units = f->query->keeps_units,
        .object = object,
    };

    if (submitted != NULL)
        (void)time_parse(submitted, &row.submit_us);
    if (waiting[0] != '\0') {
        const size_t length = strcspn(waiting, "%");

        row.tasks = arena_strndup(f->arena, waiting, length);
        row.throttle = waiting[length] == '%' ? strtoll(waiting + length + 1, NULL, 10) : 0;
    } else if (underscore != NULL)
        row.task = strtoll(underscore + 1, NULL, 10);
    if (!job_state_is_ended(row.state)) /* that of an earlier run */
        row.exit_code = 0;
    else if (row.task < 0)
        row.signal = json_get_int(json_get_path(object, "status.lastRun"), "signal", 0);
    slurm_words_take_exit(row.reason, &row.exit_code, &row.signal);
    if (row.nodes < 1)
        row.nodes = 1;
    if (is_cut(row.node)) {
        const char *whole = whole_nodes(f, object);

        row.node = whole != NULL ? whole : row.node;
    }
    return row;
}

static void
add_row(struct fetching *f, const struct queue_row *row)
{
    struct queue_row kept = *row;

    if ((f->query->states & JOB_STATE_BIT(row->state)) == 0)
        return;
    if (queue_row_is_ended(row) && row->end_us != 0 && row->end_us < f->since_us)
        return;
    if (f->query->keep != NULL && !f->query->keep(&kept, f->arena, f->query->context))
        return;
    xgrow(f->rows->items, f->rows->count, f->rows->capacity);
    f->rows->items[f->rows->count++] = kept;
}

/* ---- Arrays ---- */

/* The waiting tasks of an array: a row for all, or one for each. */
static void
add_waiting(struct fetching *f, struct queue_row row)
{
    struct task_list list;

    if (!f->query->has_all_tasks || task_list_parse(f->arena, row.tasks, &list, NULL) < 0) {
        add_row(f, &row);
        return;
    }
    row.tasks = NULL;
    row.attempts = 0;
    for (int64_t i = 0; i < list.total; i++) {
        row.task = task_list_at(&list, i);
        add_row(f, &row);
    }
}

/* A task of jobs/NAME/elements. */
static void
add_element(struct fetching *f, const struct queue_row *like, const struct json *element)
{
    struct queue_row row = *like;
    const char *node = json_get_text(element, "node");
    const char *start = json_get_text(element, "startTime");
    const char *end = json_get_text(element, "endTime");

    row.tasks = NULL;
    row.task = json_get_int(element, "task", -1);
    row.state = job_state_of_name(json_get_text(element, "state"));
    row.node = node != NULL ? node : "";
    row.start_us = row.end_us = row.expected_us = row.elapsed_s = 0;
    if (start != NULL)
        (void)time_parse(start, &row.start_us);
    if (end != NULL)
        (void)time_parse(end, &row.end_us);
    if (row.start_us != 0)
        row.elapsed_s = ((row.end_us != 0 ? row.end_us : f->now_us) - row.start_us) / SECOND_US;
    row.exit_code = json_get_int(element, "exitCode", 0);
    row.signal = json_get_int(element, "signal", 0);
    row.attempts = json_get_int(element, "attempt", 0);
    row.reason = row.state == JOB_STATE_FROZEN
                     ? "None"
                     : slurm_words_reason(json_get_text(element, "reason"));
    slurm_words_take_exit(row.reason, &row.exit_code, &row.signal);
    add_row(f, &row);
}

/* The tasks that run or have ended, as the server has them in pages. */
static int
add_elements(struct fetching *f, const struct queue_row *like, const struct json *object,
             struct error *err)
{
    const char *next = "";
    int r = 0;

    while (r == 0 && next != NULL) {
        struct json *page = NULL;
        const struct json *items;
        const struct client_request request = {
            .verb = CLIENT_GET,
            .kind = &job_kind,
            .namespace = json_path_text(object, "metadata.namespace"),
            .name = json_path_text(object, "metadata.name"),
            .subresource = "elements",
            .query =
                arena_printf(f->arena, "limit=1000%s%s", next[0] != '\0' ? "&continue=" : "", next),
            .raw = true,
        };

        r = kctl_call(&f->client->kctl, &request, f->arena, &page, err);
        items = json_get(page, "items");
        for (uint32_t i = 0; i < json_count(items); i++) {
            const enum job_state state =
                job_state_of_name(json_get_text(json_at(items, i), "state"));

            if (state != JOB_STATE_PENDING && state != JOB_STATE_NONE && state != JOB_STATE_HELD)
                add_element(f, like, json_at(items, i));
        }
        next = json_get_text(page, "continue");
    }
    return r;
}

/* An array of which the table has not all: the rest of more than 64 running
 * tasks, or those that have ended. Only its owner may read them all.
 */
static bool
wants_elements(const struct fetching *f, const struct json *tasks)
{
    const uint32_t count = json_count(tasks);
    const struct json *last = json_get(json_at(tasks, count - 1), "cells");

    if ((f->query->states & JOB_STATES_ENDED) != 0)
        return true;
    return count > 0 && strstr(text_at(f, last, CELL_ID), "...") != NULL;
}

static bool
is_own(const struct queue_row *row)
{
    const struct passwd *self = getpwuid(geteuid());

    return self != NULL && strcmp(self->pw_name, row->user) == 0;
}

/* The tasks that the table has. Waiting ones are not among the elements: those that are held
 * differ from the others.
 */
static void
add_tasks(struct fetching *f, const struct json *tasks, const struct json *object, bool is_held)
{
    for (uint32_t t = 0; t < json_count(tasks); t++) {
        struct queue_row part = read_row(f, json_get(json_at(tasks, t), "cells"), object);

        if (is_held && part.state != JOB_STATE_HELD)
            continue;
        if (part.state == JOB_STATE_HELD && part.tasks != NULL
            && strspn(part.tasks, "0123456789") == strlen(part.tasks)) {
            part.task = strtoll(part.tasks, NULL, 10);
            part.tasks = NULL;
        }
        if (part.tasks != NULL)
            add_waiting(f, part);
        else
            add_row(f, &part);
    }
}

/* Returns -E2BIG if the rest of the array must be asked for, and that were too many requests. */
static int
add_array(struct fetching *f, const struct json *table_row, const struct queue_row *row,
          enum queue_need need, struct error *err)
{
    const struct json *object = json_get(table_row, "object");
    const struct json *tasks = json_get(table_row, "tasks");

    if (wants_elements(f, tasks) && !(f->is_refused && !is_own(row))) {
        const size_t count = f->rows->count;
        int r = 0;

        if (need != QUEUE_NEEDS_JOB && f->n_arrays == MOST_SINGLE)
            return -E2BIG;
        if (need != QUEUE_NEEDS_JOB) {
            f->arrays[f->n_arrays++] = row->id;
            return 0;
        }
        if (row->tasks != NULL)
            add_waiting(f, *row);
        add_tasks(f, tasks, object, true);
        r = add_elements(f, row, object, err);
        if (r != -EACCES && r != -EPERM)
            return r;
        f->rows->count = count;
        f->is_refused = true;
    }
    if (queue_row_is_ended(row))
        add_row(f, row);
    if (row->tasks != NULL)
        add_waiting(f, *row);
    add_tasks(f, tasks, object, false);
    return 0;
}

/* An array that has ended has no waiting tasks and no rows of running ones. */
static bool
is_array(const struct json *table_row, const struct queue_row *row)
{
    return row->tasks != NULL || json_count(json_get(table_row, "tasks")) > 0
           || json_get_path(json_get(table_row, "object"), "spec.array") != NULL;
}

static int
add_table(struct fetching *f, const struct json *table, enum queue_need need, struct error *err)
{
    const struct json *rows = json_get(table, "rows");
    int r = 0;

    find_cells(f, table);
    for (uint32_t i = 0; i < json_count(rows) && r == 0; i++) {
        const struct json *table_row = json_at(rows, i);
        const struct queue_row row =
            read_row(f, json_get(table_row, "cells"), json_get(table_row, "object"));

        if (is_array(table_row, &row))
            r = add_array(f, table_row, &row, need, err);
        else
            add_row(f, &row);
    }
    return r;
}

/* ---- Requests ---- */

static const char *const include_words[] = {"None", "Metadata", "Object"};

/* One page; returns the token of the next, in the arena of the request, or NULL. */
static int
fetch_page(struct fetching *f, const struct client_request *request, enum queue_need need,
           struct arena *arena, const char **ret_next, struct error *err)
{
    CLEANUP(arena_freep) struct arena *own = f->query->keep != NULL ? arena_new(0) : NULL;
    struct json *page = NULL;
    const char *next;
    int r;

    f->arena = own != NULL ? own : arena;
    r = kctl_call(&f->client->kctl, request, f->arena, &page, err);
    if (r == 0 && ret_next == NULL && json_count(json_get(page, "rows")) == 0)
        r = error_set(err, -ENOENT, "Invalid job id specified");
    if (r == 0)
        r = add_table(f, page, need, err);
    next = json_path_text(page, "metadata.continue");
    if (ret_next != NULL)
        *ret_next = next != NULL && next[0] != '\0' ? arena_strdup(arena, next) : NULL;
    f->arena = arena;
    return r;
}

static int
fetch_one(struct fetching *f, int64_t id, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = &job_kind,
        .field_selector = arena_printf(f->arena, "status.id=%" PRId64, id),
        .accept = listing_accept(&(struct listing_style){0}),
        .query = "includeObject=Object",
    };

    return fetch_page(f, &request, QUEUE_NEEDS_JOB, f->arena, NULL, err);
}

static int
fetch_all(struct fetching *f, enum queue_need need, struct error *err)
{
    const struct queue_query *q = f->query;
    const bool is_active = (q->states & JOB_STATES_ENDED) == 0;
    const struct job_selection selection = {
        .user = q->user, .partition = q->partition, .node = q->node};
    char since[TIME_TEXT_SIZE];
    const char *query = arena_printf(f->arena, "includeObject=%s", include_words[need]);
    struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = &job_kind,
        .field_selector = job_selection_fields(&selection,
                                               is_active        ? "status.finished=false"
                                               : q->is_finished ? "status.finished=true"
                                                                : NULL,
                                               f->arena),
        .accept = listing_accept(&(struct listing_style){0}),
        .limit = PAGE,
    };
    int r = 0;

    if (!is_active) {
        time_format(f->since_us, false, since);
        query = arena_printf(f->arena, "%s&kiln.hpc/endedSince=%s", query, since);
    }
    request.query = job_selection_query(&selection, query, f->arena);
    do
        r = fetch_page(f, &request, need, f->arena, &request.continue_token, err);
    while (r == 0 && request.continue_token != NULL);
    return r;
}

static struct fetching
begin(struct slurm_client *client, const struct queue_query *query, struct arena *arena,
      struct queue_rows *rows)
{
    struct fetching f = {
        .client = client,
        .query = query,
        .arena = arena,
        .rows = rows,
        .now_us = clock_real_us(&clock_system),
    };

    f.since_us = query->since_us != 0 ? query->since_us : f.now_us - QUEUE_JOB_AGE_S * SECOND_US;
    for (size_t c = 0; c < N_CELLS; c++)
        f.at[c] = -1;
    return f;
}

int
queue_fetch(struct slurm_client *client, const struct queue_query *query, struct arena *arena,
            struct queue_rows *rows, struct error *err)
{
    struct fetching f = begin(client, query, arena, rows);
    const size_t before = rows->count;
    int r = fetch_all(&f, query->need, err);

    if (r == -E2BIG) {
        rows->count = before;
        f.n_arrays = 0;
        r = fetch_all(&f, QUEUE_NEEDS_JOB, err);
    }
    for (size_t i = 0; i < f.n_arrays && r == 0; i++) {
        r = fetch_one(&f, f.arrays[i], err);
        if (r == -ENOENT) /* deleted since */
            r = 0;
    }
    return r;
}

int
queue_fetch_job(struct slurm_client *client, const struct queue_query *query, int64_t id,
                struct arena *arena, struct queue_rows *rows, struct error *err)
{
    struct fetching f = begin(client, query, arena, rows);

    return fetch_one(&f, id, err);
}
