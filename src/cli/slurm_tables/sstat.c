/* SPDX-License-Identifier: Apache-2.0 */
/* sstat - shows what running jobs use, as their agents have last reported it */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm/step_cache.h"
#include "cli/slurm_tables/account_fields.h"
#include "cli/slurm_tables/account_row.h"
#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/job_choice.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

#define USUAL_FORMAT                                                                          \
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,"     \
    "averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu," \
    "ntasks,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread," \
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,"              \
    "maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,tresusageinmaxnode,"         \
    "tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot"

struct sstat_options {
    struct slurm_common_options common;
    struct option_texts jobs, formats;
    const char *delimiter;
    bool has_all_steps, no_heading, is_parsable, is_parsable2, ignored;
};

#define PLACE(member) .offset = offsetof(struct sstat_options, member)

/* clang-format off */
static const struct option_spec rows[] = {
    SLURM_COMMON_OPTIONS,
    {.name = "allsteps", .letter = 'a', .help = "the script and all numbered steps that run",
     .type = OPTION_FLAG, PLACE(has_all_steps)},
    {.name = "delimiter", .argument = "TEXT", .help = "between values, instead of |",
     .type = OPTION_TEXT, PLACE(delimiter)},
    {.name = "format", .letter = 'o', .argument = "LIST", .help = "the fields to show, as of sacct",
     .type = OPTION_TEXTS, PLACE(formats)},
    {.name = "jobs", .letter = 'j', .argument = "LIST", .help = "these jobs: 17,18_4,19.batch",
     .type = OPTION_TEXTS, PLACE(jobs)},
    {.name = "noconvert", .help = "amounts are exact in any unit: no effect",
     .type = OPTION_FLAG, PLACE(ignored)},
    {.name = "noheader", .letter = 'n', .help = "no heading",
     .type = OPTION_FLAG, PLACE(no_heading)},
    {.name = "parsable", .letter = 'p', .help = "values with | behind each",
     .type = OPTION_FLAG, PLACE(is_parsable)},
    {.name = "parsable2", .letter = 'P', .help = "values with | between them",
     .type = OPTION_FLAG, PLACE(is_parsable2)},
    {.name = "verbose", .letter = 'v', .help = "no effect", .type = OPTION_FLAG, PLACE(ignored)},
};
/* clang-format on */

static const struct option_table table = {
    .name = "sstat",
    .usage = "[OPTION]... -j JOB[,JOB]...",
    .summary = "Show what running jobs of yours use.",
    OPTION_ROWS(rows),
};

static const char *
make_selector(const struct queue_row *row, struct arena *arena)
{
    const char *name = json_path_text(row->object, "metadata.name");
    const char *tasks = json_path_text(row->object, "spec.array.tasks");
    struct task_list list;

    if (row->task < 0 || tasks == NULL || task_list_parse(arena, tasks, &list, NULL) < 0)
        return arena_printf(arena, "%s=%s", LABEL_JOB_NAME, name);
    return arena_printf(arena, "%s=%s,%s=%" PRId64, LABEL_JOB_NAME, name, ANNOTATION_INDEX,
                        task_list_index(&list, row->task));
}

/* Adds the use of the pods of the job, or of the task. */
static int
add_usage(struct slurm_client *client, const struct queue_row *row, struct account_row *step,
          struct error *err)
{
    const struct target_object all = {
        .kind = &pod_metrics_kind,
        .namespace = json_path_text(row->object, "metadata.namespace"),
    };
    struct json *items = NULL;
    int r = kctl_list(&client->kctl, &all, make_selector(row, client->arena), NULL, client->arena,
                      &items, err);

    step->cpu_us = step->rss = step->read = step->written = json_count(items) > 0 ? 0 : -1;
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *total = json_get(json_at(items, i), "total");

        step->cpu_us += json_get_int(total, "userCpuMicroseconds", 0)
                        + json_get_int(total, "systemCpuMicroseconds", 0);
        step->rss += json_get_int(total, "peakMemoryBytes", 0);
        step->read += json_get_int(total, "readBytes", 0);
        step->written += json_get_int(total, "writtenBytes", 0);
    }
    return r;
}

struct sstat {
    struct slurm_client *client;
    const struct sstat_options *o;
    struct output_format format;
    struct list_style style;
    struct step_cache steps;
    struct strbuf *out;
};

static size_t
add_numbered(struct sstat *s, const struct queue_row *row, const struct account_row *job,
             const char *name, bool is_first)
{
    const struct json *records = step_cache_find(&s->steps, s->client, row->id, true);
    size_t shown = 0;

    for (uint32_t i = 0; i < json_count(records) && !(is_first && shown > 0); i++) {
        const struct account_row step =
            account_row_of_step(job, json_at(records, i), s->client->arena);

        if (!step_cache_is_of_task(json_at(records, i), row->task)
            || (name != NULL && strcmp(name, step.step) != 0))
            continue;
        field_format_add_list(&s->format, &s->style, &step, s->out);
        shown++;
    }
    return shown;
}

/* The use of other programs in a job is not measured apart. */
static int
add_part(struct sstat *s, const struct queue_row *row, const struct account_row *job,
         const char *name, struct error *err)
{
    struct account_row step = account_row_step(job, name, s->client->arena);
    const int r = name[0] == 'b' ? add_usage(s->client, row, &step, err) : 0;

    if (r == 0)
        field_format_add_list(&s->format, &s->style, &step, s->out);
    return r;
}

/* Without a name the first numbered step that runs, and otherwise the script. */
static int
add_steps(struct sstat *s, const struct queue_row *row, const char *name, struct error *err)
{
    static const char *const names[] = {"extern", "batch"};
    const struct account_row job = account_row_of_queue(row, clock_real_us(&clock_system));
    const bool wants_all = name == NULL && s->o->has_all_steps;
    size_t shown = 0;
    int r = 0;

    if (!wants_all)
        shown = add_numbered(s, row, &job, name, name == NULL);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names) && (wants_all || shown == 0); i++) {
        if (!account_row_has_step(&job, names[i])
            || (!wants_all && strcmp(names[i], name != NULL ? name : "batch") != 0))
            continue;
        r = add_part(s, row, &job, names[i], err);
        shown++;
    }
    if (wants_all)
        shown += add_numbered(s, row, &job, NULL, false);
    if (r == 0 && shown == 0 && name != NULL)
        slurm_client_error(s->client, "StepId=%" PRId64 ".%s not found running.", row->id, name);
    return r;
}

/* Returns -ENOENT if the job does not run. */
static int
add_job(struct sstat *s, const struct slurm_job_choice *job, struct error *err)
{
    const struct queue_query query = {
        .need = QUEUE_NEEDS_JOB,
        .states = JOB_STATE_BIT(JOB_STATE_RUNNING) | JOB_STATE_BIT(JOB_STATE_FROZEN)
                  | JOB_STATE_BIT(JOB_STATE_ENDING),
    };
    CLEANUP(queue_rows_fini) struct queue_rows found = {0};
    struct slurm_job_choice item = *job;
    const struct slurm_job_choices one = {.items = &item, .count = 1};
    size_t shown = 0;
    int r = queue_fetch_job(s->client, &query, job->id, s->client->arena, &found, err);

    for (size_t i = 0; r == 0 && i < found.count; i++) {
        if (!job_choices_have(&one, found.items[i].id, found.items[i].task))
            continue;
        r = add_steps(s, &found.items[i], job->step, err);
        shown++;
    }
    return r == 0 && shown == 0 ? -ENOENT : r;
}

static int
show(struct slurm_client *client, const struct sstat_options *o)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct sstat s = {
        .client = client,
        .o = o,
        .style = {.delimiter = !o->is_parsable && !o->is_parsable2 ? NULL
                               : o->delimiter != NULL              ? o->delimiter
                                                                   : "|",
                  .ends_with_it = o->is_parsable && !o->is_parsable2},
        .out = &out,
    };
    struct slurm_job_choices jobs = {0};
    int status = 0;

    for (size_t i = 0; i < o->formats.count; i++)
        strbuf_printf(&list, "%s%s", i > 0 ? "," : "", o->formats.items[i]);
    s.format = field_format_of_list(client->arena, &account_fields,
                                    list.length > 0 ? arena_strdup(client->arena, list.text)
                                                    : USUAL_FORMAT);
    if (s.format.n_unknown > 0) {
        slurm_client_error(client, "Invalid field requested: \"%s\"", s.format.unknown[0]);
        return 1;
    }
    for (size_t i = 0; i < o->jobs.count; i++)
        if (job_choices_add(&jobs, client->arena, o->jobs.items[i]) != NULL) {
            slurm_client_error(client, "Invalid jobid specified: %s", o->jobs.items[i]);
            return 1;
        }
    if (jobs.count == 0) {
        slurm_client_error(client, "You didn't give me any jobs to stat.");
        return 1;
    }
    if (!o->no_heading)
        field_format_add_list_headings(&s.format, &s.style, &out);
    for (size_t i = 0; i < jobs.count; i++) {
        struct error err = {0};
        const int r = add_job(&s, &jobs.items[i], &err);

        if (r == -ENOENT)
            slurm_client_error(client, "couldn't get steps for job %" PRId64, jobs.items[i].id);
        else if (r < 0)
            status = slurm_client_fail(client, NULL, r, &err);
    }
    fwrite(out.text, 1, out.length, stdout);
    return status != 0 ? status : slurm_client_end(client);
}

static int
sstat_run(struct slurm_client *client, int argc, char **argv)
{
    struct sstat_options o = {0};
    const int at = slurm_client_options(client, &table, argc, argv, &o);
    int status = 1;

    if (at < argc)
        slurm_client_error(client, "Unknown arguments: %s", argv[at]);
    else
        status = show(client, &o);
    free(o.jobs.items);
    free(o.formats.items);
    return status;
}

const struct slurm_command sstat_slurm_command = {
    .name = "sstat",
    .summary = "show what running jobs use",
    .run = sstat_run,
};
