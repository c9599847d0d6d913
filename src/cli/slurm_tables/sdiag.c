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
    .summary = "Show how many jobs wait and run, and how long the scheduler took. More figures are "
               "metrics of the controller (/metrics).",
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

/* The scheduler's cycles, in microseconds. A cycle of Kiln's is about one pod or gang. */
struct cycles {
    int64_t count, total, last, longest, uptime_s, waiting;
};

static struct cycles
read_cycles(const struct json *status, int64_t waiting)
{
    const struct json *s = json_get(status, "scheduling");

    return (struct cycles){
        .count = json_get_int(s, "attempts", 0),
        .total = json_get_int(s, "totalMicroseconds", 0),
        .last = json_get_int(s, "lastMicroseconds", 0),
        .longest = json_get_int(s, "longestMicroseconds", 0),
        .uptime_s = json_get_int(s, "uptimeSeconds", 0),
        .waiting = waiting,
    };
}

static int64_t
mean_of(const struct cycles *c)
{
    return c->count > 0 ? c->total / c->count : 0;
}

/* As Slurm, of at least one minute. */
static int64_t
per_minute(const struct cycles *c)
{
    return c->uptime_s > 60 ? c->count * 60 / c->uptime_s : c->count;
}

static void
print_time(const char *words, int64_t at_s)
{
    const time_t at = (time_t)at_s;
    struct tm local = {0};
    char text[64];

    localtime_r(&at, &local);
    (void)strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &local);
    printf("%s%s (%" PRId64 ")\n", words, text, at_s);
}

static void
print_text(const struct json *jobs, const struct cycles *c)
{
    const int64_t now_s = clock_real_us(&clock_system) / 1000000;

    puts("*******************************************************");
    print_time("sdiag output at ", now_s);
    print_time("Data since      ", now_s - c->uptime_s);
    puts("*******************************************************\n");
    print_time("Job states ts:  ", now_s);
    printf("Jobs pending:   %" PRId64 "\n"
           "Jobs running:   %" PRId64 "\n\n",
           count(jobs, true), count(jobs, false));
    printf("Main schedule statistics (microseconds):\n"
           "\tLast cycle:   %" PRId64 "\n"
           "\tMax cycle:    %" PRId64 "\n"
           "\tTotal cycles: %" PRId64 "\n"
           "\tMean cycle:   %" PRId64 "\n"
           "\tCycles per minute: %" PRId64 "\n"
           "\tLast queue length: %" PRId64 "\n",
           c->last, c->longest, c->count, mean_of(c), per_minute(c), c->waiting);
}

static struct json *
make_tree(const struct json *jobs, const struct cycles *c, struct arena *arena)
{
    const int64_t now_s = clock_real_us(&clock_system) / 1000000;
    struct json *out = json_object(arena);

    json_set_int(arena, out, "req_time", now_s);
    json_set_int(arena, out, "req_time_start", now_s - c->uptime_s);
    json_set_int(arena, out, "job_states_ts", now_s);
    json_set_int(arena, out, "jobs_pending", count(jobs, true));
    json_set_int(arena, out, "jobs_running", count(jobs, false));
    json_set_int(arena, out, "schedule_cycle_last", c->last);
    json_set_int(arena, out, "schedule_cycle_max", c->longest);
    json_set_int(arena, out, "schedule_cycle_total", c->count);
    json_set_int(arena, out, "schedule_cycle_mean", mean_of(c));
    json_set_int(arena, out, "schedule_cycle_per_minute", per_minute(c));
    json_set_int(arena, out, "schedule_queue_length", c->waiting);
    return out;
}

static int
sdiag_run(struct slurm_client *client, int argc, char **argv)
{
    struct sdiag_options o = {0};
    const int at = slurm_client_options(client, &table, argc, argv, &o);
    struct json *status = NULL;
    struct cycles cycles;
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
    cycles = read_cycles(status, count(jobs, true));
    if (o.is_json || o.is_yaml)
        slurm_json_print(client->arena, "statistics", make_tree(jobs, &cycles, client->arena),
                         o.is_yaml);
    else
        print_text(jobs, &cycles);
    return slurm_client_end(client);
}

const struct slurm_command sdiag_slurm_command = {
    .name = "sdiag",
    .summary = "show how many jobs wait and run, and how the scheduler does",
    .run = sdiag_run,
};
