/* SPDX-License-Identifier: Apache-2.0 */
/* replay TRACE --nodes N --cores-per-node C - runs a log of jobs through the
 * real scheduler
 *
 * Reads the Standard Workload Format, runs it on a fake clock (log_replay.h)
 * and prints how long jobs waited, how fast the scheduler decided and how
 * accurate its START was.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/config/kube_configuration.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/replay/job_log.h"
#include "testsuite/replay/log_replay.h"
#include "testsuite/replay/schedule_score.h"

#define MAX_NODES 100000
#define MAX_CORES 4096

static const char usage[] =
    "usage: replay TRACE --nodes N --cores-per-node C [OPTION]...\n"
    "\n"
    "Runs TRACE (Standard Workload Format, .swf or .swf.gz) through the\n"
    "scheduler on a fake clock. A job wider than a node is one group.\n"
    "\n"
    "  --nodes N             nodes of the machine\n"
    "  --cores-per-node C    cores of each\n"
    "  --equal-members       divide a job wider than a node equally, as ksub -n\n"
    "                        does; otherwise its last node has fewer cores\n"
    "  --config FILE         the scheduler's KubeSchedulerConfiguration\n"
    "  --out FILE            write the schedule, id,submit,start,end,procs\n"
    "  --no-start            do not ask when waiting jobs will start\n"
    "  --looks N             between two events, read START again N times, every\n"
    "                        5 seconds, and count how often it moved\n"
    "  --true-limits         the limit of each job is its run time\n"
    "  --fixed N             submit the first N jobs at once, and no others\n"
    "  --seed N              of what the scheduler breaks ties by (1)\n"
    "  --help                show this\n";

struct arguments {
    const char *trace, *config, *out;
    bool has_true_limits;
    unsigned fixed; /* number of jobs; 0: all, as in the log */
    struct log_replay_settings settings;
};

static void
wrong_use(const char *words, const char *what)
{
    fprintf(stderr, "replay: %s%s; see 'replay --help'\n", words, what);
    exit(2);
}

static unsigned
parse_count(const char *name, const char *text, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > most) {
        fprintf(stderr, "replay: %s: '%s' is not a number from 1 to %u\n", name, text, most);
        exit(2);
    }
    return (unsigned)value;
}

static struct arguments
parse_arguments(int argc, char **argv)
{
    static const struct option options[] = {
        {"nodes", required_argument, NULL, 'n'},   {"cores-per-node", required_argument, NULL, 'c'},
        {"equal-members", no_argument, NULL, 'e'}, {"config", required_argument, NULL, 'f'},
        {"out", required_argument, NULL, 'o'},     {"no-start", no_argument, NULL, 'q'},
        {"seed", required_argument, NULL, 's'},    {"looks", required_argument, NULL, 'l'},
        {"true-limits", no_argument, NULL, 't'},   {"fixed", required_argument, NULL, 'x'},
        {"help", no_argument, NULL, 'h'},          {0},
    };
    struct arguments a = {.settings = {.seed = 1, .predicts = true}};
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
        switch (option) {
        case 'n':
            a.settings.nodes = parse_count("--nodes", optarg, MAX_NODES);
            break;
        case 'c':
            a.settings.cores_per_node = parse_count("--cores-per-node", optarg, MAX_CORES);
            break;
        case 'e':
            a.settings.has_equal_members = true;
            break;
        case 'f':
            a.config = optarg;
            break;
        case 'o':
            a.out = optarg;
            break;
        case 'q':
            a.settings.predicts = false;
            break;
        case 's':
            a.settings.seed = parse_count("--seed", optarg, 1u << 30);
            break;
        case 'l':
            a.settings.looks = parse_count("--looks", optarg, 1000000);
            break;
        case 't':
            a.has_true_limits = true;
            break;
        case 'x':
            a.fixed = parse_count("--fixed", optarg, 1u << 30);
            break;
        case 'h':
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        default:
            exit(2);
        }
    }
    if (argc - optind != 1)
        wrong_use(optind == argc ? "which log?" : "one log at a time", "");
    if (a.settings.nodes == 0 || a.settings.cores_per_node == 0)
        wrong_use(a.settings.nodes == 0 ? "--nodes" : "--cores-per-node", " is needed");
    a.trace = argv[optind];
    return a;
}

static void
print_score(const struct job_log *log, unsigned processors)
{
    struct schedule_score s = schedule_score(log, processors);

    printf("jobs                    %zu\n", log->count);
    printf("dropped                 %zu\n", log->n_dropped);
    printf("mean_wait_s             %.1f\n", s.mean_wait_s);
    printf("p95_wait_s              %lld\n", (long long)s.p95_wait_s);
    printf("longest_wait_s          %lld\n", (long long)s.longest_wait_s);
    printf("mean_bounded_slowdown   %.3f\n", s.mean_slowdown);
    printf("p95_bounded_slowdown    %.2f\n", s.p95_slowdown);
    printf("utilization             %.4f\n", s.utilization);
    printf("makespan_s              %lld\n", (long long)s.makespan_s);
}

static void
print_figures(const struct job_log *log, const struct log_replay_figures *f)
{
    double wall_s = (double)f->wall_us / 1e6;
    double cpu_s = (double)f->cpu_us / 1e6;

    printf("replayed_in_s           %.2f\n", wall_s);
    printf("cpu_s                   %.2f\n", cpu_s);
    printf("attempts                %llu\n", (unsigned long long)f->attempts);
    printf("decisions_per_s         %.0f\n", cpu_s > 0 ? (double)f->attempts / cpu_s : 0);
    printf("jobs_per_s              %.0f\n", cpu_s > 0 ? (double)log->count / cpu_s : 0);
    printf("most_waiting            %zu\n", f->most_waiting);
    if (f->n_asked == 0)
        return;
    printf("start_told              %zu of %zu waiting jobs\n", f->n_told, f->n_asked);
    if (f->n_told == 0)
        return;
    printf("start_mean_error_s      %.0f\n", f->error_s);
    printf("start_median_error_s    %.0f\n", f->median_s);
    printf("start_mean_late_s       %.0f\n", f->late_s);
    printf("start_exact             %.4f\n", (double)f->n_exact / (double)f->n_told);
    if (f->n_looked > 0)
        printf("start_moved             %zu of %zu looks\n", f->n_moved, f->n_looked);
}

/* The log as the arguments change it. */
static void
change_log(const struct arguments *a, struct job_log *log)
{
    if (a->fixed > 0 && a->fixed < log->count)
        log->count = a->fixed;
    for (size_t i = 0; i < log->count; i++) {
        if (a->has_true_limits)
            log->jobs[i].limit_s = log->jobs[i].run_s;
        if (a->fixed > 0)
            log->jobs[i].submit_s = 0;
    }
    job_log_sort(log);
}

static int
run(struct arguments *a, struct job_log *log, struct error *err)
{
    unsigned processors = a->settings.nodes * a->settings.cores_per_node;
    struct log_replay_figures figures;
    int r = job_log_read(log, a->trace, processors, err);

    if (r == 0)
        change_log(a, log);
    if (r == 0)
        r = log_replay_run(log, &a->settings, &figures, err);
    if (r == 0 && a->out != NULL)
        r = job_log_write_schedule(log, a->out, err);
    if (r < 0)
        return r;
    print_score(log, processors);
    print_figures(log, &figures);
    return 0;
}

int
main(int argc, char **argv)
{
    struct arguments a = parse_arguments(argc, argv);
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *configuration = NULL;
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct job_log log = {0};
    struct error err = {0};
    int r;

    if (a.config != NULL) {
        if (kube_configuration_read(a.config, &configuration, &mistakes) < 0) {
            fprintf(stderr, "replay: %s", mistakes.text);
            return EXIT_FAILURE;
        }
        a.settings.configuration = configuration;
    }
    r = run(&a, &log, &err);
    if (r < 0)
        fprintf(stderr, "replay: %s\n", err.text);
    job_log_fini(&log);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
