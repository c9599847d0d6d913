/* SPDX-License-Identifier: Apache-2.0 */
/* sacct - shows the jobs of history, and those that wait or run */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm/step_cache.h"
#include "cli/slurm_tables/account_content.h"
#include "cli/slurm_tables/account_fetch.h"
#include "cli/slurm_tables/account_fields.h"
#include "cli/slurm_tables/account_json.h"
#include "cli/slurm_tables/account_row.h"
#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/job_choice.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_json.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

#define SECOND_US INT64_C(1000000)

#define USUAL_FORMAT "jobid,jobname,partition,account,alloccpus,state,exitcode"
#define BRIEF_FORMAT "jobid,state,exitcode"
#define LONG_FORMAT                                                                            \
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss," \
    "maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,"         \
    "mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,"         \
    "reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,"             \
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,"               \
    "maxdiskwritetask,avediskwrite,reqtres,alloctres,tresusageinave,tresusageinmax,"           \
    "tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,"                 \
    "tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,"                   \
    "tresusageoutmaxtask,tresusageoutave,tresusageouttot"

struct sacct_options {
    struct slurm_common_options common;
    struct option_texts jobs, formats;
    const char *accounts, *clusters, *delimiter, *end, *names, *nodes, *partitions, *start;
    const char *states, *units, *users, *groups, *qos, *n_nodes, *n_cpus, *limit_min, *limit_max;
    const char *file, *keys;
    bool shows_script, shows_environment;
    bool has_all_users, is_brief, is_completion, has_duplicates, lists_fields, no_heading, is_json;
    bool is_yaml, is_long, is_parsable, is_parsable2, is_truncated, has_no_steps, ignored;
};

#define PLACE(member) .offset = offsetof(struct sacct_options, member)

/* clang-format off */
static const struct option_spec rows[] = {
    SLURM_COMMON_OPTIONS,
    {.name = "accounts", .letter = 'A', .argument = "LIST", .help = "only jobs of these accounts",
     .type = OPTION_TEXT, PLACE(accounts)},
    {.name = "allclusters", .letter = 'L', .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "allocations", .letter = 'X', .help = "jobs without their steps",
     .type = OPTION_FLAG, PLACE(has_no_steps)},
    {.name = "allusers", .letter = 'a', .help = "jobs of all users, as far as you may see them",
     .type = OPTION_FLAG, PLACE(has_all_users)},
    {.name = "array", .help = "tasks of arrays have lines of their own anyway",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "batch-script", .letter = 'B', .help = "the scripts of the jobs of -j, while the jobs exist",
     .type = OPTION_FLAG, PLACE(shows_script)},
    {.name = "brief", .letter = 'b', .help = "only id, state and exit code",
     .type = OPTION_FLAG, PLACE(is_brief)},
    {.name = "clusters", .letter = 'M', .argument = "NAME", .help = "must name this cluster",
     .type = OPTION_TEXT, PLACE(clusters)},
    {.name = "completion", .letter = 'c', .help = "Kiln has no file of completed jobs: refused",
     .type = OPTION_FLAG, PLACE(is_completion)},
    {.name = "delimiter", .argument = "TEXT", .help = "between values, instead of |",
     .type = OPTION_TEXT, PLACE(delimiter)},
    {.name = "duplicates", .letter = 'D', .help = "also attempts after which a job was started again",
     .type = OPTION_FLAG, PLACE(has_duplicates)},
    {.name = "endtime", .letter = 'E', .argument = "TIME",
     .help = "only jobs that began before (now; with --state: the time of -S)",
     .type = OPTION_TEXT, PLACE(end)},
    {.name = "env-vars", .help = "the environments of the jobs of -j, while the jobs exist",
     .type = OPTION_FLAG, PLACE(shows_environment)},
    {.name = "file", .letter = 'f', .argument = "FILE",
     .help = "Kiln has no file of completed jobs: refused", .type = OPTION_TEXT, PLACE(file)},
    {.name = "federation", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "format", .letter = 'o', .argument = "LIST",
     .help = "the fields to show: jobid,state%20,end", .type = OPTION_TEXTS, PLACE(formats)},
    {.name = "gid", .letter = 'g', .argument = "LIST",
     .help = "only jobs of users with these primary groups", .type = OPTION_TEXT, PLACE(groups)},
    {.name = "group", .argument = "LIST", .help = "the same as --gid",
     .type = OPTION_TEXT, PLACE(groups)},
    {.name = "helpformat", .letter = 'e', .help = "list the fields, and exit",
     .type = OPTION_FLAG, PLACE(lists_fields)},
    {.name = "jobs", .letter = 'j', .argument = "LIST", .help = "only these jobs: 17,18_4,19.batch",
     .type = OPTION_TEXTS, PLACE(jobs)},
    {.name = "json", .help = "show all as JSON", .type = OPTION_FLAG, PLACE(is_json)},
    {.name = "timelimit-max", .letter = 'K', .argument = "TIME",
     .help = "with --timelimit-min: jobs whose time limit is at most this", .type = OPTION_TEXT,
     PLACE(limit_max)},
    {.name = "timelimit-min", .letter = 'k', .argument = "TIME",
     .help = "only jobs with this time limit", .type = OPTION_TEXT, PLACE(limit_min)},
    {.name = "ncpus", .letter = 'I', .argument = "N[-M]",
     .help = "only jobs with so many CPUs", .type = OPTION_TEXT, PLACE(n_cpus)},
    {.name = "nnodes", .letter = 'i', .argument = "N[-M]",
     .help = "only jobs with so many nodes", .type = OPTION_TEXT, PLACE(n_nodes)},
    {.name = "qos", .letter = 'q', .argument = "LIST",
     .help = "only jobs of these priority classes that still exist", .type = OPTION_TEXT,
     PLACE(qos)},
    {.name = "local", .help = "there is one cluster: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "long", .letter = 'l', .help = "many fields", .type = OPTION_FLAG, PLACE(is_long)},
    {.name = "name", .argument = "LIST", .help = "only jobs with these names",
     .type = OPTION_TEXT, PLACE(names)},
    {.name = "noconvert", .help = "amounts are exact in any unit: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "nodelist", .letter = 'N', .argument = "NODES", .help = "only jobs that ran on these nodes",
     .type = OPTION_TEXT, PLACE(nodes)},
    {.name = "noheader", .letter = 'n', .help = "no heading",
     .type = OPTION_FLAG, PLACE(no_heading)},
    {.name = "parsable", .letter = 'p', .help = "values with | behind each",
     .type = OPTION_FLAG, PLACE(is_parsable)},
    {.name = "parsable2", .letter = 'P', .help = "values with | between them",
     .type = OPTION_FLAG, PLACE(is_parsable2)},
    {.name = "partition", .letter = 'r', .argument = "LIST", .help = "only jobs of these partitions",
     .type = OPTION_TEXT, PLACE(partitions)},
    {.name = "starttime", .letter = 'S', .argument = "TIME",
     .help = "only jobs that ended since (today; with --jobs: ever; with --state: now)",
     .type = OPTION_TEXT,
     PLACE(start)},
    {.name = "state", .letter = 's', .argument = "LIST",
     .help = "only jobs in these states between -S and -E",
     .type = OPTION_TEXT, PLACE(states)},
    {.name = "truncate", .letter = 'T', .help = "cut times to those of -S and -E",
     .type = OPTION_FLAG, PLACE(is_truncated)},
    {.name = "uid", .argument = "LIST", .help = "the same as --user",
     .type = OPTION_TEXT, PLACE(users)},
    {.name = "units", .argument = "UNIT", .help = "of memory: K, M, G, T or P",
     .type = OPTION_TEXT, PLACE(units)},
    {.name = "user", .letter = 'u', .argument = "LIST", .help = "only jobs of these users (yours)",
     .type = OPTION_TEXT, PLACE(users)},
    {.name = "verbose", .letter = 'v', .help = "no effect", .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "wckeys", .letter = 'W', .argument = "LIST",
     .help = "jobs have no such keys: with one, none is shown", .type = OPTION_TEXT, PLACE(keys)},
    {.name = "yaml", .help = "show all as YAML", .type = OPTION_FLAG, PLACE(is_yaml)},
};
/* clang-format on */

static const struct option_table table = {
    .name = "sacct",
    .usage = "[OPTION]...",
    .summary = "Show jobs that have ended, wait or run: yours, of today.",
    OPTION_ROWS(rows),
};

struct sacct {
    struct slurm_client *client;
    struct sacct_options o;
    struct account_query query;
    struct output_format format;
    struct list_style style;
    struct step_cache steps;
    bool needs_derived;
    gid_t *gids; /* of -g; in the arena */
    size_t n_gids;
};

/* ---- Options ---- */

static void
list_fields(void)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < account_fields.count; i++) {
        const bool is_last = i % 4 == 3 || i + 1 == account_fields.count;

        strbuf_printf(&out, "%-19s%s", account_fields.items[i].name, is_last ? "\n" : " ");
    }
    fwrite(out.text, 1, out.length, stdout);
}

/* Numbers of users become names. */
static bool
find_users(struct sacct *s)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *list = s->o.users;
    const struct passwd *self;

    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        const char *name;
        const struct passwd *user;
        unsigned long uid;
        char *end;

        length = strcspn(list, ",");
        name = arena_strndup(s->client->arena, list, length);
        uid = strtoul(name, &end, 10);
        user = *end == '\0' ? getpwuid((uid_t)uid) : getpwnam(name);
        if (user == NULL) {
            slurm_client_error(s->client, "Invalid user id: %s", name);
            return false;
        }
        strbuf_printf(&out, "%s%s", out.length > 0 ? "," : "", user != NULL ? user->pw_name : name);
    }
    if (s->o.users == NULL && !s->o.has_all_users && s->query.jobs.count == 0 && geteuid() != 0
        && s->o.accounts == NULL) {
        self = getpwuid(geteuid());
        strbuf_add_text(&out, self != NULL ? self->pw_name : "");
    }
    if (out.length > 0)
        s->query.users = arena_strdup(s->client->arena, out.text);
    return true;
}

/* Numbers and names of groups. */
static bool
find_groups(struct sacct *s)
{
    const char *list = s->o.groups;

    if (list == NULL)
        return true;
    s->gids = arena_new_array(s->client->arena, gid_t, strlen(list) + 1);
    for (size_t length; *list != '\0'; list += length + (list[length] == ',')) {
        const char *name;
        const struct group *group;
        unsigned long gid;
        char *end;

        length = strcspn(list, ",");
        name = arena_strndup(s->client->arena, list, length);
        gid = strtoul(name, &end, 10);
        group = *end == '\0' ? NULL : getgrnam(name);
        if (*end != '\0' && group == NULL) {
            slurm_client_error(s->client, "Invalid group id: %s", name);
            return false;
        }
        s->gids[s->n_gids++] = group != NULL ? group->gr_gid : (gid_t)gid;
    }
    return true;
}

/* Whether -g and -W leave the job in the list. */
static bool
is_listed(const struct sacct *s, const struct account_row *row)
{
    const struct passwd *user = s->n_gids > 0 ? getpwnam(row->user) : NULL;
    bool is_of_group = s->o.groups == NULL || s->o.groups[0] == '\0';

    for (size_t i = 0; i < s->n_gids; i++)
        is_of_group = is_of_group || (user != NULL && user->pw_gid == s->gids[i]);
    return is_of_group && (s->o.keys == NULL || s->o.keys[0] == '\0');
}

static int64_t
midnight_us(int64_t now_us)
{
    const time_t now = (time_t)(now_us / SECOND_US);
    struct tm local = {0};

    localtime_r(&now, &local);
    local.tm_hour = local.tm_min = local.tm_sec = 0;
    local.tm_isdst = -1;
    return (int64_t)mktime(&local) * SECOND_US;
}

static void
refuse_times(const struct sacct *s, int64_t since_us, int64_t until_us)
{
    CLEANUP_STRBUF struct strbuf since = STRBUF_INIT, until = STRBUF_INIT;

    slurm_time_add(since_us, &since);
    slurm_time_add(until_us, &until);
    slurm_client_error(s->client, "Start time (%s) requested is after end time (%s).", since.text,
                       until.text);
}

static bool
find_times(struct sacct *s)
{
    const int64_t now_us = clock_real_us(&clock_system);
    struct error err = {0};
    int r = 0;

    if (s->query.jobs.count == 0)
        s->query.since_us = s->o.states != NULL ? now_us : midnight_us(now_us);
    if (s->o.start != NULL)
        r = slurm_time_parse(s->o.start, now_us, &s->query.since_us, &err);
    /* With states, a time alone is a moment. */
    if (s->o.states != NULL)
        s->query.until_us = s->o.start != NULL ? s->query.since_us : now_us;
    if (r == 0 && s->o.end != NULL)
        r = slurm_time_parse(s->o.end, now_us, &s->query.until_us, &err);
    if (r < 0) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    if ((s->query.until_us != 0 ? s->query.until_us : now_us) < s->query.since_us) {
        refuse_times(s, s->query.since_us, s->query.until_us != 0 ? s->query.until_us : now_us);
        return false;
    }
    return true;
}

static bool
fail(const struct sacct *s, const char *words, const char *what)
{
    fprintf(stderr, "%s: fatal: %s%s\n", s->client->name, words, what);
    return false;
}

static bool
find_jobs(struct sacct *s)
{
    for (size_t i = 0; i < s->o.jobs.count; i++) {
        const char *bad = job_choices_add(&s->query.jobs, s->client->arena, s->o.jobs.items[i]);

        if (bad != NULL)
            return fail(s, "Bad job/step specified: ", bad);
    }
    return true;
}

static bool
find_states(struct sacct *s)
{
    const char *why = NULL;

    if (s->o.states != NULL)
        why = slurm_words_parse_accounted_states(s->o.states, &s->query.states, s->client->arena);
    return why == NULL || fail(s, why, "");
}

/* Fields that history does not have, but the Job while it exists. */
static bool
needs_jobs(const struct output_format *format)
{
    static const char *const names[] = {"Comment",     "Constraints", "Priority", "QOS",
                                        "Reservation", "SubmitLine",  "WorkDir"};

    for (size_t i = 0; i < format->count; i++)
        for (size_t k = 0; k < ARRAY_SIZE(names); k++)
            if (strcmp(format->fields[i].column->name, names[k]) == 0)
                return true;
    return false;
}

static bool
find_format(struct sacct *s)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const char *of_environment = getenv("SACCT_FORMAT");

    for (size_t i = 0; i < s->o.formats.count; i++)
        strbuf_printf(&list, "%s%s", i > 0 ? "," : "", s->o.formats.items[i]);
    if (list.length == 0)
        strbuf_add_text(&list, s->o.is_brief            ? BRIEF_FORMAT
                               : s->o.is_long           ? LONG_FORMAT
                               : of_environment != NULL ? of_environment
                                                        : USUAL_FORMAT);
    s->format = field_format_of_list(s->client->arena, &account_fields,
                                     arena_strdup(s->client->arena, list.text));
    if (s->format.n_unknown > 0) {
        slurm_client_error(s->client, "Invalid field requested: \"%s\"", s->format.unknown[0]);
        return false;
    }
    for (size_t i = 0; i < s->format.count; i++)
        if (strcmp(s->format.fields[i].column->name, "DerivedExitCode") == 0)
            s->needs_derived = true;
    s->query.needs_jobs =
        needs_jobs(&s->format) || s->o.qos != NULL || s->o.is_json || s->o.is_yaml;
    if (s->o.is_parsable || s->o.is_parsable2)
        s->style.delimiter = s->o.delimiter != NULL ? s->o.delimiter : "|";
    s->style.ends_with_it = s->o.is_parsable && !s->o.is_parsable2;
    return true;
}

/* "4", "4-8" */
static bool
find_range(const struct sacct *s, const char *name, const char *text, struct account_range *range)
{
    char *end;

    if (text == NULL)
        return true;
    range->least = range->most = strtoll(text, &end, 10);
    if (*end == '-' && end > text)
        range->most = strtoll(end + 1, &end, 10);
    if (*end == '\0' && range->least > 0 && range->most >= range->least)
        return true;
    slurm_client_error(s->client, "%s: '%s' is neither a number nor a range such as 2-8", name,
                       text);
    return false;
}

static bool
find_ranges(struct sacct *s)
{
    int64_t least = 0, most = 0;
    struct error err = {0};

    if (!find_range(s, "--nnodes", s->o.n_nodes, &s->query.node_range)
        || !find_range(s, "--ncpus", s->o.n_cpus, &s->query.cpu_range))
        return false;
    if (s->o.limit_min == NULL && s->o.limit_max == NULL)
        return true;
    if ((s->o.limit_min != NULL && duration_parse(s->o.limit_min, &least, &err) < 0)
        || duration_parse(s->o.limit_max != NULL ? s->o.limit_max : s->o.limit_min, &most, &err)
               < 0) {
        slurm_client_error(s->client, "%s", err.text);
        return false;
    }
    s->query.limit_range = (struct account_range){least, most};
    return true;
}

static bool
prepare(struct sacct *s)
{
    struct error err = {0};

    if (s->o.file != NULL && access(s->o.file, R_OK) < 0) {
        fprintf(stderr, "%s is not a valid file\n", s->o.file);
        return false;
    }
    if (s->o.shows_script && s->o.shows_environment)
        return fail(s, "Options --batch-script and --env-vars are mutually exclusive", "");
    if ((s->o.shows_script || s->o.shows_environment) && s->o.jobs.count == 0)
        return fail(s,
                    s->o.shows_script ? "When requesting job scripts"
                                      : "When requesting job environment",
                    " you must also request specific jobs with the '-j' option.");
    if (s->o.is_completion || s->o.file != NULL) {
        fprintf(stderr, "Slurm job completion is disabled\n");
        return false;
    }
    if (s->o.units != NULL
        && (strlen(s->o.units) != 1 || strchr("KMGTPkmgtp", s->o.units[0]) == NULL)) {
        slurm_client_error(s->client, "Invalid unit type '%s'. Possible options are 'KMGTP'",
                           s->o.units);
        return fail(s, "Invalid unit type", "");
    }
    if (!slurm_cluster_is_this(s->client, s->o.clusters) || !find_jobs(s) || !find_users(s)
        || !find_groups(s) || !find_states(s) || !find_times(s))
        return false;
    if (s->o.nodes != NULL
        && hostlist_expand(s->client->arena, s->o.nodes, &s->query.nodes, &s->query.n_nodes, &err)
               < 0) {
        slurm_client_error(s->client, "Invalid node name %s", s->o.nodes);
        return false;
    }
    if (!find_ranges(s))
        return false;
    if (!slurm_cluster_has_qos(s->client, s->o.qos))
        return fail(s, "problem processing qos list", "");
    s->query.qos = s->o.qos;
    s->query.accounts = s->o.accounts;
    s->query.partitions = s->o.partitions;
    s->query.names = s->o.names;
    s->query.has_all_attempts = s->o.has_duplicates;
    return find_format(s);
}

/* ---- Output ---- */

/* A step that was named (17.batch) is shown alone. */
static bool
is_step_chosen(const struct sacct *s, const struct account_row *row)
{
    bool has_step = false;

    for (size_t i = 0; i < s->query.jobs.count; i++) {
        const struct slurm_job_choice *job = &s->query.jobs.items[i];

        if (job->id != row->id)
            continue;
        if (job->step == NULL || (row->step != NULL && strcmp(job->step, row->step) == 0))
            return true;
        has_step = true;
    }
    return !has_step;
}

static void
add_line(const struct sacct *s, const struct account_row *row, struct strbuf *out)
{
    if (is_step_chosen(s, row))
        field_format_add_list(&s->format, &s->style, row, out);
}

static bool
is_of_row(const struct json *step, const struct account_row *row)
{
    return step_cache_is_of_task(step, row->task)
           && (row->attempt == 0 || row->attempt == json_get_int(step, "attempt", 0));
}

static void
find_derived(struct sacct *s, struct account_row *row)
{
    const struct json *steps = step_cache_find(&s->steps, s->client, row->id, false);

    for (uint32_t i = 0; i < json_count(steps); i++) {
        const int64_t signal = json_get_int(json_at(steps, i), "signal", 0);
        const int64_t status =
            signal != 0 ? signal : json_get_int(json_at(steps, i), "exitCode", 0) << 8;

        if (is_of_row(json_at(steps, i), row) && status > row->derived)
            row->derived = status;
    }
}

static void
add_numbered_steps(struct sacct *s, const struct account_row *row, struct strbuf *out)
{
    const struct json *steps = step_cache_find(&s->steps, s->client, row->id, false);

    for (uint32_t i = 0; i < json_count(steps); i++) {
        struct account_row step;

        if (!is_of_row(json_at(steps, i), row))
            continue;
        step = account_row_of_step(row, json_at(steps, i), s->client->arena);
        add_line(s, &step, out);
    }
}

static void
add_job(struct sacct *s, const struct account_row *row, struct strbuf *out)
{
    static const char *const steps[] = {"batch", "extern"};

    add_line(s, row, out);
    for (size_t i = 0; !s->o.has_no_steps && i < ARRAY_SIZE(steps); i++)
        if (account_row_has_step(row, steps[i])) {
            const struct account_row step = account_row_step(row, steps[i], s->client->arena);

            add_line(s, &step, out);
        }
    if (!s->o.has_no_steps && account_row_has_started(row))
        add_numbered_steps(s, row, out);
}

struct sacct_tree {
    struct sacct *s;
    const struct account_rows *found;
};

static struct json *
make_job(void *context, size_t i, struct arena *arena)
{
    struct sacct_tree *t = context;
    const struct account_row *row = &t->found->items[i];
    struct json *job = account_json(row, arena);
    const struct json *steps = !t->s->o.has_no_steps && account_row_has_started(row)
                                   ? step_cache_find(&t->s->steps, t->s->client, row->id, false)
                                   : NULL;

    for (uint32_t k = 0; k < json_count(steps); k++) {
        struct account_row step;

        if (!is_of_row(json_at(steps, k), row))
            continue;
        step = account_row_of_step(row, json_at(steps, k), arena);
        account_json_add_step(job, &step, arena);
    }
    return job;
}

static void
print_tree(struct sacct *s, const struct account_rows *found)
{
    struct arena *arena = s->client->arena;
    struct sacct_tree t = {.s = s, .found = found};
    struct json *jobs = json_array(arena);

    if (!s->o.is_yaml) {
        slurm_json_print_rows("jobs", found->count, make_job, &t);
        return;
    }
    for (size_t i = 0; i < found->count; i++)
        json_append(arena, jobs, make_job(&t, i, arena));
    slurm_json_print(arena, "jobs", jobs, s->o.is_yaml);
}

static void
print_rows(struct sacct *s, struct account_rows *found)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < found->count && (!s->o.has_no_steps || s->needs_derived); i++)
        step_cache_expect(&s->steps, s->client, found->items[i].id);
    if (s->o.is_json || s->o.is_yaml) {
        print_tree(s, found);
        return;
    }
    if (!s->o.no_heading)
        field_format_add_list_headings(&s->format, &s->style, &out);
    for (size_t i = 0; i < found->count; i++) {
        struct account_row *row = &found->items[i];

        row->unit = s->o.units != NULL ? (char)toupper((unsigned char)s->o.units[0]) : 0;
        if (s->o.is_truncated) {
            row->since_us = s->query.since_us;
            row->until_us = s->query.until_us;
        }
        if (s->needs_derived && account_row_has_started(row))
            find_derived(s, row);
        add_job(s, row, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
}

static void
remove_unlisted(const struct sacct *s, struct account_rows *found)
{
    size_t n = 0;

    if (s->o.groups == NULL && s->o.keys == NULL)
        return;
    for (size_t i = 0; i < found->count; i++)
        if (is_listed(s, &found->items[i]))
            found->items[n++] = found->items[i];
    found->count = n;
}

static int
run(struct sacct *s)
{
    CLEANUP(account_rows_fini) struct account_rows found = {0};
    struct error err = {0};
    int r;

    if (s->o.lists_fields) {
        list_fields();
        return slurm_client_end(s->client);
    }
    if (!prepare(s))
        return 1;
    r = account_fetch(s->client, &s->query, s->client->arena, &found, &err);
    if (r < 0)
        return slurm_client_fail(s->client, "Problem talking to the database", r, &err);
    remove_unlisted(s, &found);
    if (s->o.shows_script || s->o.shows_environment) {
        const int status = account_content_print(s->client, &found, s->o.shows_environment);
        const int end = slurm_client_end(s->client);

        return status != 0 ? status : end;
    }
    print_rows(s, &found);
    return slurm_client_end(s->client);
}

static int
sacct_run(struct slurm_client *client, int argc, char **argv)
{
    struct sacct s = {.client = client};
    const int at = slurm_client_options(client, &table, argc, argv, &s.o);
    int status = 1;

    if (at < argc) {
        slurm_client_error(client, "Unknown arguments:");
        for (int i = at; i < argc; i++)
            slurm_client_error(client, " %s", argv[i]);
    } else
        status = run(&s);
    free(s.o.jobs.items);
    free(s.o.formats.items);
    return status;
}

const struct slurm_command sacct_slurm_command = {
    .name = "sacct",
    .summary = "show jobs that have ended, wait or run",
    .run = sacct_run,
};
