/* SPDX-License-Identifier: Apache-2.0 */
/* sdiag - counts jobs; the figures of scheduling are metrics of the controller */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "cli/kctl/client/kctl.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_tables/slurm_json.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

struct sdiag_options {
    struct slurm_common_options common;
    bool is_all, resets, is_json, is_yaml;
};

#define PLACE(member) .offset = offsetof(struct sdiag_options, member)

/* clang-format off */
static const struct option_spec rows[] = {
    SLURM_COMMON_OPTIONS,
    {.name = "all", .letter = 'a', .help = "all figures (always)",
     .type = OPTION_FLAG, PLACE(is_all)},
    {.name = "json", .help = "show all as JSON", .type = OPTION_FLAG, PLACE(is_json)},
    {.name = "reset", .letter = 'r', .help = "refused: metrics are not reset",
     .type = OPTION_FLAG, PLACE(resets)},
    {.name = "yaml", .help = "show all as YAML", .type = OPTION_FLAG, PLACE(is_yaml)},
};
/* clang-format on */

static const struct option_table table = {
    .name = "sdiag",
    .usage = "[OPTION]...",
    .summary = "Show how many jobs wait and run. The figures of scheduling are metrics of the "
               "controller (/metrics).",
    OPTION_ROWS(rows),
};

/* The jobs of the states that Slurm calls by one word. */
static int64_t
count(const struct json *jobs, bool is_waiting)
{
    int64_t n = 0;

    for (unsigned i = JOB_STATE_PENDING; i < JOB_STATE_COMPLETED; i++) {
        const struct job_state_words *words = job_state_words((enum job_state)i);
        const bool waits = words->class == JOB_STATE_WAITS && i != JOB_STATE_STARTING;

        if (waits == is_waiting)
            n += json_get_int(jobs, words->name, 0);
    }
    return n;
}

static void
print_text(const struct json *jobs)
{
    const time_t now = (time_t)(clock_real_us(&clock_system) / 1000000);
    struct tm local = {0};
    char text[64];

    localtime_r(&now, &local);
    (void)strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &local);
    printf("*******************************************************\n"
           "sdiag output at %s (%lld)\n"
           "*******************************************************\n\n"
           "Job states ts:  %s (%lld)\n"
           "Jobs pending:   %" PRId64 "\n"
           "Jobs running:   %" PRId64 "\n",
           text, (long long)now, text, (long long)now, count(jobs, true), count(jobs, false));
}

static int
sdiag_run(struct slurm_client *client, int argc, char **argv)
{
    struct sdiag_options o = {0};
    const int at = slurm_client_options(client, &table, argc, argv, &o);
    struct json *status = NULL, *statistics;
    const struct json *jobs;
    struct error err = {0};
    int r;

    if (at < argc || o.resets) {
        slurm_client_error(client, "%s",
                           o.resets ? "--reset: metrics of Kiln are not reset"
                                    : "sdiag takes no arguments");
        return 1;
    }
    r = kctl_ask(&client->kctl, "/kiln/v1/status", client->arena, &status, &err);
    if (r < 0) {
        fprintf(stderr, "slurm_get_statistics: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    jobs = json_get(status, "jobs");
    if (o.is_json || o.is_yaml) {
        statistics = json_object(client->arena);
        json_set_int(client->arena, statistics, "job_states_ts",
                     clock_real_us(&clock_system) / 1000000);
        json_set_int(client->arena, statistics, "jobs_pending", count(jobs, true));
        json_set_int(client->arena, statistics, "jobs_running", count(jobs, false));
        slurm_json_print(client->arena, "statistics", statistics, o.is_yaml);
    } else
        print_text(jobs);
    return slurm_client_end(client);
}

const struct slurm_command sdiag_slurm_command = {
    .name = "sdiag",
    .summary = "show how many jobs wait and run",
    .run = sdiag_run,
};
