/* SPDX-License-Identifier: Apache-2.0 */
/* seff - says how well a job used what it asked for */
#include <inttypes.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_tables/account_fetch.h"
#include "cli/slurm_tables/account_row.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/value/task_list.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"

struct seff_options {
    struct slurm_common_options common;
};

static const struct option_spec rows[] = {SLURM_COMMON_OPTIONS};

static const struct option_table table = {
    .name = "seff",
    .usage = "JOB[_TASK]",
    .summary = "Show how much of its CPUs and memory a job used.",
    OPTION_ROWS(rows),
    .more = "For an array, it describes the task that is named.",
};

static const char *
unit_of(double *bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    size_t unit = 0;

    *bytes /= 1024;
    while (*bytes >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
        *bytes /= 1024;
        unit++;
    }
    return units[unit];
}

static double
percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void
add_memory(const struct account_row *row, struct strbuf *out)
{
    double used = row->rss > 0 ? (double)row->rss : 0;
    double asked = (double)row->memory;
    const double share = percent(used, asked);
    const char *used_unit = unit_of(&used), *asked_unit = unit_of(&asked);

    strbuf_printf(out, "Memory Utilized: %.2f %s\n", used, used_unit);
    if (row->memory > 0)
        strbuf_printf(out, "Memory Efficiency: %.2f%% of %.2f %s\n", share, asked, asked_unit);
    else
        strbuf_add_text(out, "Memory Efficiency: the job asked for no memory\n");
}

static void
print_job(const struct account_row *row)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct passwd *user = row->uid >= 0 ? getpwuid((uid_t)row->uid) : NULL;
    const int64_t held_s = account_row_elapsed_s(row) * row->cpus;

    strbuf_printf(&out, "Job ID: %" PRId64 "\n", row->id);
    if (row->task >= 0)
        strbuf_printf(&out, "Array Job ID: %" PRId64 "_%" PRId64 "\n", row->id, row->task);
    strbuf_printf(&out, "Cluster: %s\nUser/Group: %s/%s\n", slurm_cluster_name(), row->user,
                  user != NULL ? user->pw_name : row->user);
    if (job_state_is_ended(row->state))
        strbuf_printf(&out, "State: %s (exit code %" PRId64 ")\n",
                      slurm_words_state(row->state, false), row->exit_code);
    else
        strbuf_printf(&out, "State: %s\n", slurm_words_state(row->state, false));
    if (row->nodes > 1)
        strbuf_printf(&out, "Nodes: %" PRId64 "\nCores per node: %" PRId64 "\n", row->nodes,
                      row->cpus / row->nodes);
    else
        strbuf_printf(&out, "Cores: %" PRId64 "\n", row->cpus);
    if (!account_row_has_started(row)) {
        strbuf_add_text(&out, "Efficiency not available for jobs in the PENDING state.\n");
    } else if (row->cpu_us < 0) {
        strbuf_add_text(&out, "Efficiency is known when the job has ended; 'sstat -j' shows what "
                              "it uses now.\n");
    } else {
        strbuf_add_text(&out, "CPU Utilized: ");
        slurm_time_add_elapsed(row->cpu_us / 1000000, &out);
        strbuf_printf(&out, "\nCPU Efficiency: %.2f%% of ",
                      percent((double)row->cpu_us / 1e6, (double)held_s));
        slurm_time_add_elapsed(held_s, &out);
        strbuf_add_text(&out, " core-walltime\nJob Wall-clock time: ");
        slurm_time_add_elapsed(account_row_elapsed_s(row), &out);
        strbuf_add_char(&out, '\n');
        add_memory(row, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
}

static int
seff_run(struct slurm_client *client, int argc, char **argv)
{
    CLEANUP(account_rows_fini) struct account_rows found = {0};
    struct account_query query = {0};
    struct seff_options o = {0};
    const int at = slurm_client_options(client, &table, argc, argv, &o);
    struct error err = {0};
    int r;

    if (argc - at != 1 || job_choices_add(&query.jobs, client->arena, argv[at]) != NULL
        || query.jobs.count != 1) {
        slurm_client_error(client, "give one job: seff JOB, or seff JOB_TASK");
        return 1;
    }
    r = account_fetch(client, &query, client->arena, &found, &err);
    if (r < 0)
        return slurm_client_fail(client, "Problem talking to the database", r, &err);
    if (found.count == 0) {
        fprintf(stderr, "Job not found.\n");
        return 2;
    }
    print_job(&found.items[0]);
    return slurm_client_end(client);
}

const struct slurm_command seff_slurm_command = {
    .name = "seff",
    .summary = "say how well a job used what it asked for",
    .run = seff_run,
};
