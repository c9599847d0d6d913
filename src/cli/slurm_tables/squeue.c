/* SPDX-License-Identifier: Apache-2.0 */
/* squeue - shows the jobs that wait or run, and those that have just ended */
#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/kctl/client/account_list.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm/step_cache.h"
#include "cli/slurm_tables/job_choice.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/queue_fields.h"
#include "cli/slurm_tables/queue_json.h"
#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/queue_sort.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_json.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

/* More jobs than these are not asked for one by one. */
#define MOST_SINGLE 20

#define USUAL_FORMAT "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define LONG_FORMAT  "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define START_FORMAT "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
#define STEP_FORMAT  "%.15i %.8j %.9P %.8u %.9M %N"
#define USUAL_SORT   "P,t,-p"
#define START_SORT   "S"

struct squeue_options {
    struct slurm_common_options common;
    struct option_texts jobs;
    const char *accounts, *names, *partitions, *users, *qos, *licenses, *reservation;
    const char *nodes, *states, *sort, *clusters;
    struct output_choice format;
    const char *steps;
    int64_t interval_s;
    bool is_all, no_heading, is_long, is_start, is_mine, each_task, keeps_units, is_json, is_yaml;
    bool has_steps, ignored;
};

#define PLACE(member) .offset = offsetof(struct squeue_options, member)

static int
set_steps(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    struct squeue_options *o = target;

    (void)option;
    (void)err;
    o->has_steps = true;
    o->steps = value;
    return 0;
}

/* clang-format off */
static const struct option_spec rows[] = {
    SLURM_COMMON_OPTIONS,
    {.name = "account", .letter = 'A', .argument = "LIST", .help = "only jobs of these accounts",
     .type = OPTION_TEXT, PLACE(accounts)},
    {.name = "all", .letter = 'a', .help = "jobs of all partitions (always)",
     .type = OPTION_FLAG, PLACE(is_all)},
    {.name = "array", .letter = 'r', .help = "a line for each task of an array",
     .type = OPTION_FLAG, PLACE(each_task)},
    {.name = "array-unique", .help = "no effect, as in Slurm 22.05",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "clusters", .letter = 'M', .argument = "NAME", .help = "must name this cluster",
     .type = OPTION_TEXT, PLACE(clusters)},
    {.name = "federation", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "format", .letter = 'o', .argument = "FORMAT",
     .help = "the fields to show, such as '%i %j %T'", .type = OPTION_CALL, .set = field_format_set_letters, PLACE(format)},
    {.name = "Format", .letter = 'O', .argument = "LIST",
     .help = "the fields to show, such as JobID,Name:20,State", .type = OPTION_CALL,
     .set = field_format_set_names, PLACE(format)},
    {.name = "hide", .help = "Kiln hides no partition: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "iterate", .letter = 'i', .argument = "SECONDS",
     .help = "show the list again and again, so many seconds apart", .type = OPTION_INT, .min = 1,
     .max = 86400, PLACE(interval_s)},
    {.name = "jobs", .letter = 'j', .argument = "LIST", .help = "only these jobs: 17,18_4,19_[1-3]",
     .type = OPTION_TEXTS, PLACE(jobs)},
    {.name = "json", .help = "show all as JSON", .type = OPTION_FLAG, PLACE(is_json)},
    {.name = "licenses", .letter = 'L', .argument = "LIST",
     .help = "only jobs that use these licenses: no job of Kiln has any", .type = OPTION_TEXT,
     PLACE(licenses)},
    {.name = "local", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "long", .letter = 'l', .help = "more fields", .type = OPTION_FLAG, PLACE(is_long)},
    {.name = "me", .help = "only your jobs", .type = OPTION_FLAG, PLACE(is_mine)},
    {.name = "name", .letter = 'n', .argument = "LIST", .help = "only jobs with these names",
     .type = OPTION_TEXT, PLACE(names)},
    {.name = "noconvert", .help = "keep amounts of memory in megabytes",
     .type = OPTION_FLAG, PLACE(keeps_units)},
    {.name = "nodelist", .letter = 'w', .argument = "NODES", .help = "only jobs on these nodes",
     .type = OPTION_TEXT, PLACE(nodes)},
    {.name = "nodes", .argument = "NODES", .help = "the same as --nodelist",
     .type = OPTION_TEXT, PLACE(nodes)},
    {.name = "noheader", .letter = 'h', .help = "no heading",
     .type = OPTION_FLAG, PLACE(no_heading)},
    {.name = "only-job-state", .help = "of later releases of Slurm, to save work: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "partition", .letter = 'p', .argument = "LIST",
     .help = "only jobs of these partitions", .type = OPTION_TEXT, PLACE(partitions)},
    {.name = "priority", .letter = 'P', .help = "a job of several partitions has one line: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "qos", .letter = 'q', .argument = "LIST", .help = "only jobs of these priority classes",
     .type = OPTION_TEXT, PLACE(qos)},
    {.name = "reservation", .letter = 'R', .argument = "NAME",
     .help = "only jobs of this reservation", .type = OPTION_TEXT, PLACE(reservation)},
    {.name = "sibling", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "sort", .letter = 'S', .argument = "LIST",
     .help = "the order, as letters of --format: P,t,-p", .type = OPTION_TEXT, PLACE(sort)},
    {.name = "start", .help = "when waiting jobs are expected to start",
     .type = OPTION_FLAG, PLACE(is_start)},
    {.name = "states", .letter = 't', .argument = "LIST",
     .help = "only jobs in these states, or all: also jobs that ended in the last five minutes",
     .type = OPTION_TEXT, PLACE(states)},
    {.name = "steps", .letter = 's', .argument = "[=LIST]", .help = "the steps of running jobs",
     .type = OPTION_CALL, .set = set_steps},
    {.name = "user", .letter = 'u', .argument = "LIST", .help = "only jobs of these users",
     .type = OPTION_TEXT, PLACE(users)},
    {.name = "users", .argument = "LIST", .help = "the same as --user",
     .type = OPTION_TEXT, PLACE(users)},
    {.name = "verbose", .letter = 'v', .help = "no effect", .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "yaml", .help = "show all as YAML", .type = OPTION_FLAG, PLACE(is_yaml)},
};
/* clang-format on */

static const struct option_table table = {
    .name = "squeue",
    .usage = "[OPTION]...",
    .summary = "Show jobs that wait or run.",
    OPTION_ROWS(rows),
};

struct squeue {
    struct step_cache steps;
    struct slurm_client *client;
    struct squeue_options o;
    struct output_format format;
    const char *sort;
    struct slurm_job_choices jobs;
    uint32_t states;
    const char *users; /* names */
    const char **nodes;
    size_t n_nodes;
    enum queue_need need;
    bool sorts_by_job;    /* rows are compared by what only their Jobs have */
    const char *accounts; /* with all their names */
    bool is_empty;        /* an empty list was given: no job is meant */
};

/* ---- Options ---- */

/* The environment, for what the command line leaves out. */
static void
read_environment(struct squeue_options *o)
{
    const struct {
        const char *name;
        const char **value;
    } texts[] = {
        {"SQUEUE_ACCOUNT", &o->accounts}, {"SQUEUE_LICENSES", &o->licenses},
        {"SQUEUE_NAMES", &o->names},      {"SQUEUE_PARTITION", &o->partitions},
        {"SQUEUE_QOS", &o->qos},          {"SQUEUE_SORT", &o->sort},
        {"SQUEUE_STATES", &o->states},    {"SQUEUE_USERS", &o->users},
        {"SLURM_CLUSTERS", &o->clusters},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (*texts[i].value == NULL)
            *texts[i].value = getenv(texts[i].name);
    if (getenv("SQUEUE_ARRAY") != NULL)
        o->each_task = true;
    if (o->format.letters != NULL || o->format.names != NULL || o->is_long || o->is_start
        || o->has_steps)
        return;
    o->format.letters = getenv("SQUEUE_FORMAT");
    if (o->format.letters == NULL)
        o->format.names = getenv("SQUEUE_FORMAT2");
}

/* Numbers of users become names. An unknown user is only reported: no job is
 * his.
 */
static void
find_users(struct squeue *q)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *list = q->o.is_mine ? NULL : q->o.users;
    struct passwd *self = q->o.is_mine ? getpwuid(geteuid()) : NULL;

    if (self != NULL)
        strbuf_add_text(&out, self->pw_name);
    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        const char *name;
        char *end;
        unsigned long uid;
        struct passwd *user;

        length = strcspn(list, ",");
        if (length == 0)
            continue;
        name = arena_strndup(q->client->arena, list, length);
        uid = strtoul(name, &end, 10);
        user = *end == '\0' ? getpwuid((uid_t)uid) : getpwnam(name);
        if (user == NULL)
            slurm_client_error(q->client, "Invalid user: %s\n", name);
        strbuf_printf(&out, "%s%s", out.length > 0 ? "," : "", user != NULL ? user->pw_name : name);
    }
    if (q->o.is_mine || q->o.users != NULL)
        q->users = arena_strdup(q->client->arena, out.text);
}

static bool
parse_states(struct squeue *q)
{
    const char *bad = NULL;

    q->states = q->o.is_start ? JOB_STATE_BIT(JOB_STATE_PENDING) | JOB_STATE_BIT(JOB_STATE_HELD)
                                    | JOB_STATE_BIT(JOB_STATE_REQUEUED)
                              : JOB_STATES_ACTIVE;
    if (q->o.has_steps)
        q->states = JOB_STATE_BIT(JOB_STATE_RUNNING) | JOB_STATE_BIT(JOB_STATE_FROZEN)
                    | JOB_STATE_BIT(JOB_STATE_UNKNOWN);
    /* The states of --states are those of jobs. */
    if (q->o.states == NULL || q->o.states[0] == '\0' || q->o.has_steps
        || slurm_words_parse_states(q->o.states, &q->states, &bad))
        return true;
    slurm_client_error(q->client, "Invalid job state specified: %.*s", (int)strcspn(bad, ","), bad);
    slurm_client_error(q->client, "Valid job states include: %s\n", slurm_words_valid_states);
    return false;
}

static bool
parse_format(struct squeue *q)
{
    const struct squeue_options *o = &q->o;
    const struct output_columns *columns = o->has_steps ? &queue_step_fields : &queue_fields;
    struct arena *arena = q->client->arena;
    char unknown;

    q->sort = o->sort != NULL ? o->sort : o->is_start ? START_SORT : USUAL_SORT;
    if (o->format.names != NULL)
        q->format = field_format_of_names(arena, columns, o->format.names);
    else
        q->format = field_format_of_letters(arena, columns,
                                            o->format.letters != NULL ? o->format.letters
                                            : o->has_steps            ? STEP_FORMAT
                                            : o->is_start             ? START_FORMAT
                                            : o->is_long              ? LONG_FORMAT
                                                                      : USUAL_FORMAT);
    for (size_t i = 0; i < q->format.n_unknown; i++)
        slurm_client_error(q->client, "Invalid job%s format specification: %s",
                           o->has_steps ? " step" : "", q->format.unknown[i]);
    unknown = queue_sort_find_unknown(q->sort);
    if (unknown != '\0') {
        slurm_client_error(q->client, "Invalid sort specification: %c", unknown);
        return false;
    }
    return true;
}

static bool
parse_jobs(struct squeue *q)
{
    for (size_t i = 0; i < q->o.jobs.count; i++) {
        const char *bad = job_choices_add(&q->jobs, q->client->arena, q->o.jobs.items[i]);

        if (bad != NULL) {
            slurm_client_error(q->client, "Invalid job id: %s", bad);
            return false;
        }
    }
    /* A script whose variable is empty means no job, and not every job. */
    q->is_empty = (q->o.jobs.count > 0 && q->jobs.count == 0)
                  || (q->o.states != NULL && q->o.states[0] == '\0');
    if (q->o.steps != NULL) {
        const char *bad = job_choices_add(&q->jobs, q->client->arena, q->o.steps);

        if (bad != NULL) {
            slurm_client_error(q->client, "Invalid job_step specification: %s", bad);
            return false;
        }
    }
    return true;
}

static void
find_need(struct squeue *q)
{
    const struct squeue_options *o = &q->o;
    const enum queue_need of_sort = queue_sort_need(q->sort, &q->sorts_by_job);

    q->need = queue_fields_need(&q->format);
    if ((o->accounts != NULL || o->names != NULL) && q->need < QUEUE_NEEDS_METADATA)
        q->need = QUEUE_NEEDS_METADATA;
    if (of_sort > q->need)
        q->need = of_sort;
    if (o->has_steps || o->reservation != NULL || o->qos != NULL || o->is_json || o->is_yaml
        || (q->states & JOB_STATES_ENDED) != 0)
        q->need = QUEUE_NEEDS_JOB;
}

static bool
prepare(struct squeue *q)
{
    struct error err = {0};

    read_environment(&q->o);
    if (!slurm_cluster_is_this(q->client, q->o.clusters) || !parse_states(q) || !parse_jobs(q))
        return false;
    find_users(q);
    if (q->o.nodes != NULL
        && hostlist_expand(q->client->arena, q->o.nodes, &q->nodes, &q->n_nodes, &err) < 0) {
        slurm_client_error(q->client, "Invalid node name %s", q->o.nodes);
        return false;
    }
    if (!parse_format(q))
        return false;
    find_need(q);
    return true;
}

/* ---- Selection ---- */

static bool
is_on_node(const struct squeue *q, const struct queue_row *row, struct arena *arena)
{
    const char **names = NULL;
    size_t count = 0;

    if (queue_row_is_waiting(row) || hostlist_expand(arena, row->node, &names, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < q->n_nodes; k++)
            if (strcmp(names[i], q->nodes[k]) == 0)
                return true;
    return false;
}

static bool
is_wanted(const struct squeue *q, const struct queue_row *row, struct arena *arena)
{
    const struct squeue_options *o = &q->o;
    const char *reservation;

    if (o->licenses != NULL || !name_list_has(q->users, row->user)
        || !name_list_has(q->accounts, row->account)
        || (!o->has_steps && !name_list_has_any_case(o->names, row->name))
        || !name_list_has_any(o->partitions, row->partition))
        return false;
    if (q->jobs.count > 0 && !job_choices_have(&q->jobs, row->id, row->task))
        return false;
    if (q->nodes != NULL && !is_on_node(q, row, arena))
        return false;
    if (o->qos != NULL && !name_list_has(o->qos, queue_row_qos(row)))
        return false;
    reservation = o->reservation != NULL ? queue_row_pod_text(row, "placement.reservation") : NULL;
    return o->reservation == NULL
           || (reservation != NULL && strcmp(reservation, o->reservation) == 0);
}

/* ---- Output ---- */

static void
print_step(const struct squeue *q, const struct queue_row *step, struct strbuf *out)
{
    bool is_chosen = q->jobs.count == 0;

    for (size_t i = 0; i < q->jobs.count; i++)
        if (q->jobs.items[i].id == step->id
            && (q->jobs.items[i].step == NULL || strcmp(q->jobs.items[i].step, step->steps) == 0))
            is_chosen = true;
    if (is_chosen)
        field_format_add_line(&q->format, step, out);
}

/* Those of another user's jobs are asked for only if these are named. */
static bool
has_numbered_steps(const struct squeue *q, const struct queue_row *row)
{
    const struct passwd *self = getpwuid(geteuid());

    return q->jobs.count > 0 || geteuid() == 0
           || (self != NULL && strcmp(self->pw_name, row->user) == 0);
}

/* The numbered steps first. */
static void
print_steps(struct squeue *q, const struct queue_row *row, struct arena *arena, struct strbuf *out)
{
    static const char *const names[] = {"batch", "extern"};
    const struct json *records =
        has_numbered_steps(q, row) ? step_cache_find(&q->steps, q->client, row->id, true) : NULL;

    for (uint32_t i = 0; i < json_count(records); i++)
        if (step_cache_is_of_task(json_at(records, i), row->task)) {
            const struct queue_row step = queue_row_numbered_step(row, json_at(records, i), arena);

            print_step(q, &step, out);
        }
    for (size_t i = queue_row_is_allocation(row); i < ARRAY_SIZE(names); i++) {
        const struct queue_row step = queue_row_step(row, names[i], arena);

        print_step(q, &step, out);
    }
}

static struct json *
make_job(void *context, size_t i, struct arena *arena)
{
    const struct queue_rows *found = context;

    return queue_json(&found->items[i], arena);
}

static void
print_tree(const struct squeue *q, struct queue_rows *found, struct arena *arena)
{
    struct json *jobs = json_array(arena);

    if (!q->o.is_yaml) {
        slurm_json_print_rows("jobs", found->count, make_job, found);
        return;
    }
    for (size_t i = 0; i < found->count; i++)
        json_append(arena, jobs, queue_json(&found->items[i], arena));
    slurm_json_print(arena, "jobs", jobs, q->o.is_yaml);
}

static void
print_rows(struct squeue *q, struct queue_rows *found, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (q->o.is_json || q->o.is_yaml) {
        print_tree(q, found, arena);
        return;
    }
    if (q->o.clusters != NULL && !q->o.no_heading)
        printf("CLUSTER: %s\n", slurm_cluster_name());
    if ((q->o.is_long || q->o.interval_s > 0) && !q->o.no_heading)
        slurm_time_print_date();
    if (!q->o.no_heading)
        field_format_add_line(&q->format, NULL, &out);
    for (size_t i = 0; i < found->count && q->o.has_steps; i++)
        if (has_numbered_steps(q, &found->items[i]))
            step_cache_expect(&q->steps, q->client, found->items[i].id);
    for (size_t i = 0; i < found->count; i++)
        if (q->o.has_steps)
            print_steps(q, &found->items[i], arena, &out);
        else if (found->items[i].line != NULL)
            strbuf_add_text(&out, found->items[i].line);
        else
            field_format_add_line(&q->format, &found->items[i], &out);
    fwrite(out.text, 1, out.length, stdout);
}

/* ---- Run ---- */

struct keeping {
    struct squeue *q;
    struct arena *arena;
};

/* The line of a row takes some hundred bytes, and its Job many thousands: of these there is one
 * page at a time. The fields that most lists are sorted by stay.
 */
static bool
keep_line(struct queue_row *row, struct arena *page, void *context)
{
    const struct keeping *k = context;
    CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

    if (!is_wanted(k->q, row, page))
        return false;
    if (!k->q->o.has_steps)
        field_format_add_line(&k->q->format, row, &line);
    row->line = arena_strdup(k->arena, line.text != NULL ? line.text : "");
    queue_row_keep(row, k->q->o.has_steps, k->arena);
    return true;
}

static int
fetch(struct squeue *q, struct arena *arena, struct queue_rows *found, struct error *err)
{
    struct keeping keeping = {.q = q, .arena = arena};
    struct queue_query query = {
        .keep = q->o.is_json || q->o.is_yaml || q->sorts_by_job ? NULL : keep_line,
        .context = &keeping,
        .need = q->need,
        .states = q->states,
        .keeps_units = q->o.keeps_units,
        .has_all_tasks = q->o.each_task,
    };
    int r = 0;

    q->steps = (struct step_cache){0};
    for (size_t i = 0; i < q->jobs.count; i++)
        if (q->jobs.items[i].has_tasks)
            query.has_all_tasks = true;
    if (q->users != NULL && strchr(q->users, ',') == NULL)
        query.user = q->users;
    if (q->o.partitions != NULL && strchr(q->o.partitions, ',') == NULL)
        query.partition = q->o.partitions;
    if (q->n_nodes == 1)
        query.node = q->nodes[0];
    if (q->jobs.count == 0 || q->jobs.count > MOST_SINGLE)
        return queue_fetch(q->client, &query, arena, found, err);
    for (size_t i = 0; i < q->jobs.count; i++) {
        bool is_double = false;

        for (size_t k = 0; k < i; k++)
            is_double = is_double || q->jobs.items[k].id == q->jobs.items[i].id;
        if (is_double)
            continue;
        r = queue_fetch_job(q->client, &query, q->jobs.items[i].id, arena, found, err);
        if (r == -ENOENT && q->jobs.count > 1)
            r = 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int
show(struct squeue *q)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(queue_rows_fini) struct queue_rows found = {0};
    struct error err = {0};
    size_t kept = 0;
    int r;

    q->accounts = account_list_names(&q->client->kctl, q->o.accounts, arena);
    r = q->is_empty || (q->users != NULL && q->users[0] == '\0') ? 0
                                                                 : fetch(q, arena, &found, &err);
    if (r == -ENOENT && q->o.has_steps) /* that a job has no steps is no error */
        r = 0;
    if (r < 0) {
        fflush(stdout);
        fprintf(stderr, "slurm_load_jobs error: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].line != NULL || is_wanted(q, &found.items[i], arena))
            found.items[kept++] = found.items[i];
    found.count = kept;
    queue_sort_rows(found.items, found.count, q->sort);
    print_rows(q, &found, arena);
    return slurm_client_end(q->client);
}

static int
squeue_run(struct slurm_client *client, int argc, char **argv)
{
    struct squeue q = {.client = client};
    int at = slurm_client_options(client, &table, argc, argv, &q.o);
    int status;

    if (at < argc && q.o.has_steps && q.o.steps == NULL) /* the list of -s may be apart from it */
        q.o.steps = argv[at++];
    if (at < argc) {
        slurm_client_error(client, "Unrecognized option: %s", argv[at]);
        free(q.o.jobs.items);
        return 1;
    }
    status = prepare(&q) ? show(&q) : 1;
    while (status == 0 && q.o.interval_s > 0) {
        printf("\n");
        fflush(stdout);
        sleep((unsigned)q.o.interval_s);
        status = show(&q);
    }
    free(q.o.jobs.items);
    return status;
}

const struct slurm_command squeue_slurm_command = {
    .name = "squeue",
    .summary = "show jobs that wait or run",
    .run = squeue_run,
};
