/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_options.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

static struct krun_settings settings;
static struct error error;
static char words[512], *arguments[64];
static int n_arguments, operands;

/* A command line in one string, with one space between words. */
static int
read_line(const char *line)
{
    settings = (struct krun_settings){.gpus = KRUN_UNSET,
                                      .kills_on_bad_exit = KRUN_UNSET,
                                      .wait_s = KRUN_UNSET,
                                      .patience_s = KRUN_UNSET};
    error = (struct error){0};
    n_arguments = 0;
    snprintf(words, sizeof(words), "krun %s", line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        arguments[n_arguments++] = word;
    arguments[n_arguments] = NULL;
    return krun_options_read(&settings, n_arguments, arguments, &operands, &error);
}

START_TEST(options_end_at_the_command)
{
    clearenv();
    ck_assert_int_eq(read_line("-n 4 -c2 -l --exact ./a -n 3"), 0);
    ck_assert_int_eq(settings.request.tasks, 4);
    ck_assert_int_eq(settings.request.cpus_per_task, 2);
    ck_assert(settings.labels && settings.request.is_exact && settings.has_tasks);
    ck_assert_str_eq(arguments[operands], "./a");
    ck_assert_int_eq(n_arguments - operands, 3);
}
END_TEST

START_TEST(values_are_read_as_srun_reads_them)
{
    clearenv();
    ck_assert_int_eq(read_line("-N 2-4 -t 1:30 --signal=R:USR1@120 --mem=2G -I30 -K0 -W 5 a"), 0);
    ck_assert_int_eq(settings.request.min_nodes, 2);
    ck_assert_int_eq(settings.request.max_nodes, 4);
    ck_assert_int_eq(settings.time_limit_s, 90);
    ck_assert_int_eq(settings.signal, SIGUSR1);
    ck_assert_int_eq(settings.signal_before_s, 120);
    ck_assert_int_eq(settings.request.memory_bytes, INT64_C(2) << 30);
    ck_assert_int_eq(settings.patience_s, 30);
    ck_assert_int_eq(settings.kills_on_bad_exit, 0);
    ck_assert_int_eq(settings.wait_s, 5);
    ck_assert_int_eq(read_line("--exclusive --gres=gpu:a100:2 -vv --open-mode=append a"), 0);
    ck_assert(settings.request.is_exact && settings.request.streams.appends);
    ck_assert_int_eq(settings.request.gpus_per_node, 2);
    ck_assert_int_eq(settings.verbosity, 2);
    ck_assert_int_eq(read_line("--gres=none -G 0 --mpi=none --profile=none a"), 0);
    ck_assert(settings.has_no_gpus);
}
END_TEST

START_TEST(variables_give_way_to_the_command_line)
{
    clearenv();
    setenv("SLURM_NTASKS", "8", 1);
    setenv("SLURM_JOB_NUM_NODES", "2", 1);
    setenv("SRUN_CPUS_PER_TASK", "3", 1);
    setenv("SLURM_LABELIO", "1", 1);
    setenv("SLURM_OVERLAP", "0", 1);
    ck_assert_int_eq(read_line("-c 4 a"), 0);
    ck_assert_int_eq(settings.request.tasks, 8);
    ck_assert_int_eq(settings.request.min_nodes, 2);
    ck_assert_int_eq(settings.request.cpus_per_task, 4);
    ck_assert(settings.labels && !settings.request.overlaps);
    ck_assert(!settings.has_tasks && !settings.has_nodes);
    /* sbatch -m plane=4 sets these for its script. */
    setenv("SLURM_DISTRIBUTION", "plane", 1);
    setenv("SLURM_DIST_PLANESIZE", "4", 1);
    ck_assert_int_eq(read_line("a"), 0);
    ck_assert_str_eq(settings.request.distribution, "plane=4");
    setenv("SLURM_DISTRIBUTION", "NoPack", 1);
    ck_assert_int_eq(read_line("a"), 0);
    ck_assert_str_eq(settings.request.distribution, "*,NoPack");
    setenv("SLURM_NTASKS", "many", 1);
    ck_assert_int_eq(read_line("a"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "SLURM_NTASKS: Invalid numeric value \"many\""));
}
END_TEST

START_TEST(options_of_jobs_are_noted_once)
{
    clearenv();
    ck_assert_int_eq(read_line("-p gpu --qos=x -p other a"), 0);
    ck_assert_uint_eq(settings.n_notes, 2);
    ck_assert_str_eq(settings.notes[0], "partition");
    ck_assert_int_eq(read_line("--mem-bind=local --cpu_bind=none a"), 0);
    ck_assert_uint_eq(settings.n_notes, 0);
    ck_assert_int_eq(read_line("--mem-bind=map_mem:0 --ntasks-per-socket=2 --cpu-freq=high a"), 0);
    ck_assert_uint_eq(settings.n_notes, 3);
}
END_TEST

START_TEST(options_that_cannot_be_had_are_refused_with_words)
{
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"--bcast a", "--bcast: copy the program with sbcast first"},
        {"--mpi=pmix_v1 a", "--mpi: 'pmix_v1' is none of the kinds that there are: pmix"},
        {"--ntasks-per-gpu=1 a", "--ntasks-per-gpu: use --gpus-per-task"},
        {"--cpu-bind=corse a", "--cpu-bind: 'corse' is no binding"},
        {"-m blok a", "--distribution: 'blok' is no distribution"},
        {"-n 0 a", "--ntasks: Invalid numeric value \"0\""},
        {"-N 2-1 a", "--nodes: Invalid numeric value \"1\""},
        {"-N x a", "--nodes: 'x' is no number of nodes"},
        {"-o %q a", "--output: %q is no pattern"},
        {"--gres=fpga:1 a", "--gres: 'fpga:1': a step can only have GPUs"},
        {"--signal=NOPE a", "--signal: 'NOPE' is not a signal"},
        {"-F nodes a", "--nodefile: use --nodelist"},
        {"--exclusive=user a", "--exclusive: 'user': only a job"},
        {"--bogus a", "unknown option '--bogus'"},
    };

    clearenv();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_lt(read_line(cases[i].line), 0);
        ck_assert_msg(strstr(error.text, cases[i].expected) != NULL, "%s: %s", cases[i].line,
                      error.text);
    }
}
END_TEST

SUITE("krun_options", options_end_at_the_command, values_are_read_as_srun_reads_them,
      variables_give_way_to_the_command_line, options_of_jobs_are_noted_once,
      options_that_cannot_be_had_are_refused_with_words)
