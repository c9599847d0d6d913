/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/ksub_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/accelerators.h"
#include "cli/ksub/array_request.h"
#include "cli/ksub/node_constraints.h"
#include "cli/ksub/output_path.h"
#include "cli/ksub/submission.h"
#include "cli/ksub/warning_signal.h"
#include "cli/values/begin_time.h"
#include "cli/values/memory_size.h"
#include "lib/api/cron/cron_schedule.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define MOST_CPUS INT64_C(1000000)

static int
set_duration(const struct option_spec *option,
             const char *value,
             void *target,
             struct error *err)
{
    int64_t *seconds = (int64_t *)((char *)target + option->offset);
    int r = duration_parse(value, seconds, err);

    if (r == 0 && option->offset == offsetof(struct submission, time_limit_s))
        ((struct submission *)target)->is_unlimited =
            *seconds == DURATION_UNLIMITED;
    return r;
}

/* --mem and --mem-per-cpu replace each other. */
static int
set_memory(const struct option_spec *option,
           const char *value,
           void *target,
           struct error *err)
{
    struct submission *s = target;
    const bool per_cpu =
        option->offset == offsetof(struct submission, memory_per_cpu_bytes);
    int64_t bytes = 0;
    int r = memory_size_parse(value, &bytes, err);

    if (r < 0)
        return r;
    s->memory_bytes = per_cpu ? 0 : bytes;
    s->memory_per_cpu_bytes = per_cpu ? bytes : 0;
    return 0;
}

static int
set_array(const struct option_spec *option,
          const char *value,
          void *target,
          struct error *err)
{
    (void)option;
    return array_request_parse(value, target, err);
}

static int
set_tmp(const struct option_spec *option,
        const char *value,
        void *target,
        struct error *err)
{
    struct submission *s = target;

    (void)option;
    s->tmp_bytes = 0;
    if (strcmp(value, "0") == 0)
        return 0;
    return memory_size_parse(value, &s->tmp_bytes, err);
}

static int
set_begin(const struct option_spec *option,
          const char *value,
          void *target,
          struct error *err)
{
    struct submission *s = target;

    (void)option;
    return begin_time_parse(value,
                            clock_real_us(&clock_system),
                            &s->begin_at_us,
                            err);
}

static int
set_dependency(const struct option_spec *option,
               const char *value,
               void *target,
               struct error *err)
{
    (void)option;
    return submission_set_dependency(target, value, err);
}

static int
set_deadline(const struct option_spec *option,
             const char *value,
             void *target,
             struct error *err)
{
    struct submission *s = target;

    (void)option;
    return begin_time_parse(value,
                            clock_real_us(&clock_system),
                            &s->deadline_us,
                            err);
}

static int
set_cron(const struct option_spec *option,
         const char *value,
         void *target,
         struct error *err)
{
    struct submission *s = target;
    struct cron_schedule schedule;
    int r = cron_schedule_parse(value, &schedule, err);

    (void)option;
    if (r < 0)
        return error_wrap(err,
                          r,
                          "'%s' is no schedule such as '0 3 * * *' (minute, "
                          "hour, day, month, weekday) or @daily",
                          value);
    s->cron = value;
    return 0;
}

static int
set_job_name(const struct option_spec *option,
             const char *value,
             void *target,
             struct error *err)
{
    struct submission *s = target;

    (void)option;
    if (value[0] == '\0')
        return error_set(err, -EINVAL, "the name is empty");
    s->job_name = value;
    return 0;
}

/* Refused here, so that a script's line can be named. */
static int
set_constraint(const struct option_spec *option,
               const char *value,
               void *target,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct submission alone = {0};
    int r;

    *(const char **)(void *)((char *)&alone + option->offset) = value;
    r = node_constraints_add(&alone, arena, json_object(arena), err);
    if (r == 0)
        *(const char **)(void *)((char *)target + option->offset) = value;
    return r;
}

/* One node: "1", "1-1", or at the least one: "1-4". */
static int
set_node_count(const struct option_spec *option,
               const char *value,
               void *target,
               struct error *err)
{
    (void)option;
    (void)target;
    if (strcmp(value, "1") == 0
        || (strncmp(value, "1-", 2) == 0 && value[2] != '\0' && value[2] != '0'
            && strspn(value + 2, "0123456789") == strlen(value + 2)))
        return 0;
    if (value[0] == '\0' || strspn(value, "0123456789-") != strlen(value)
        || value[0] == '0')
        return error_set(err, -EINVAL, "'%s' is not a number of nodes", value);
    return error_set(err,
                     -EOPNOTSUPP,
                     "a job has one node for now; jobs over several nodes "
                     "come in a later release");
}

/* Accepts one of the words in `data`; each may have a different meaning. */
struct choice {
    const char *word;
    const char *meaning; /* NULL: itself */
};

static int
set_choice(const struct option_spec *option,
           const char *value,
           void *target,
           struct error *err)
{
    const struct choice *first = option->data;
    const char **place =
        (const char **)(void *)((char *)target + option->offset);
    char words[256] = "";

    for (const struct choice *c = first; c->word != NULL; c++) {
        if (strcmp(c->word, value) == 0) {
            *place = c->meaning != NULL ? c->meaning : c->word;
            return 0;
        }
        if (c->meaning == NULL) {
            if (c != first)
                strcat(words, ", ");
            strcat(words, c->word);
        }
    }
    return error_set(err, -EINVAL, "'%s' is none of %s", value, words);
}

static const struct choice numa_policies[] = {
    {"none", NULL},
    {"best-effort", NULL},
    {"restricted", NULL},
    {"single-numa-node", NULL},
    {"single", "single-numa-node"},
    {NULL, NULL},
};
static const struct choice memory_policies[] = {{"bind", NULL},
                                                {"preferred", NULL},
                                                {"interleave", NULL},
                                                {NULL, NULL}};
static const struct choice gpu_bindings[] = {{"closest", NULL},
                                             {"none", NULL},
                                             {NULL, NULL}};
static const struct choice distributions[] = {
    {"pack", NULL},
    {"scatter", NULL},
    {"cyclic", NULL},
    {"block", "pack"},
    {NULL, NULL},
};

static int
set_gpus(const struct option_spec *option,
         const char *value,
         void *target,
         struct error *err)
{
    (void)option;
    return accelerators_parse_gpus(value, target, err);
}

static int
set_gres(const struct option_spec *option,
         const char *value,
         void *target,
         struct error *err)
{
    (void)option;
    return accelerators_parse_gres(value, target, err);
}

static int
set_hugepages(const struct option_spec *option,
              const char *value,
              void *target,
              struct error *err)
{
    (void)option;
    return accelerators_parse_hugepages(value, target, err);
}

/* "2", "0.5", or Kubernetes' "500m". */
static int
set_shared(const struct option_spec *option,
           const char *value,
           void *target,
           struct error *err)
{
    struct submission *s = target;
    struct quantity cpus;
    int64_t mcpu;

    (void)option;
    mcpu = quantity_parse(value, &cpus) < 0 ? 0 : quantity_text_milli(value);
    if (mcpu < 1 || mcpu > (int64_t)MOST_CPUS * 1000)
        return error_set(err,
                         -EINVAL,
                         "'%s' is not a number of CPUs such as 0.5 or 2",
                         value);
    s->shared_mcpu = mcpu;
    return 0;
}

static int
set_open_mode(const struct option_spec *option,
              const char *value,
              void *target,
              struct error *err)
{
    struct submission *s = target;
    const size_t length = strlen(value);

    (void)option;
    if (length > 0 && strncmp(value, "append", length) == 0)
        s->append = true;
    else if (length > 0 && strncmp(value, "truncate", length) == 0)
        s->append = false;
    else
        return error_set(err,
                         -EINVAL,
                         "'%s' is neither append nor truncate",
                         value);
    return 0;
}

static int
set_path(const struct option_spec *option,
         const char *value,
         void *target,
         struct error *err)
{
    const char **place =
        (const char **)(void *)((char *)target + option->offset);
    int r = output_path_check(value, err);

    if (r == 0)
        *place = value;
    return r;
}

static int
set_priority(const struct option_spec *option,
             const char *value,
             void *target,
             struct error *err)
{
    struct submission *s = target;
    char *end;
    long number;

    (void)option;
    errno = 0;
    number = strtol(value, &end, 10);
    if (end != value && *end == '\0') {
        if (errno != 0 || number > INT32_MAX || number < INT32_MIN)
            return error_set(err, -ERANGE, "'%s' is too large", value);
        s->priority_value = number;
        s->priority = &s->priority_value;
        s->priority_class = NULL;
        return 0;
    }
    if (value[0] == '\0')
        return error_set(err,
                         -EINVAL,
                         "a number, or the name of a priority class");
    s->priority_class = value;
    s->priority = NULL;
    return 0;
}

static int
set_signal(const struct option_spec *option,
           const char *value,
           void *target,
           struct error *err)
{
    struct submission *s = target;
    int r = warning_signal_parse(value, &s->signal, err);

    (void)option;
    if (r == 0)
        s->has_signal = true;
    return r;
}

static int
set_no_requeue(const struct option_spec *option,
               const char *value,
               void *target,
               struct error *err)
{
    struct submission *s = target;

    (void)option;
    (void)value;
    (void)err;
    s->requeue = false;
    return 0;
}

#define PLACE(member) .offset = offsetof(struct submission, member)

static const struct option_spec rows[] = {
    {.name = "account",
     .letter = 'A',
     .argument = "NAME",
     .help = "charge the job to this account (its namespace)",
     .type = OPTION_TEXT,
     PLACE(account)},
    {.name = "array",
     .letter = 'a',
     .argument = "TASKS[%N]",
     .help = "a job array, with a task for each number: 0-99, 1-1000:7, "
             "3,5,9-12; of 0-99%4 no more than 4 run at once",
     .type = OPTION_CALL,
     .set = set_array},
    {.name = "array-fail-fast",
     .help = "the first task of the array that fails ends the others",
     .type = OPTION_FLAG,
     PLACE(array_fail_fast)},
    {.name = "begin",
     .argument = "TIME",
     .help = "do not start before: now+1hour, 16:00, 2026-12-24T18:00",
     .type = OPTION_CALL,
     .set = set_begin},
    {.name = "chdir",
     .letter = 'D',
     .argument = "DIR",
     .help = "run in this directory instead of this one here",
     .type = OPTION_TEXT,
     PLACE(directory)},
    {.name = "comment",
     .argument = "TEXT",
     .help = "a note, kept with the job",
     .type = OPTION_TEXT,
     PLACE(comment)},
    {.name = "constraint",
     .letter = 'C',
     .argument = "LIST",
     .help = "only on nodes with these features or labels: a&b, a|b, "
             "KEY=VALUE",
     .type = OPTION_CALL,
     .set = set_constraint,
     PLACE(constraint)},
    {.name = "cores-per-socket",
     .argument = "N",
     .help = "at most so many cores of each package",
     .type = OPTION_INT,
     .min = 1,
     .max = MOST_CPUS,
     PLACE(cores_per_socket)},
    {.name = "cpus-per-task",
     .letter = 'c',
     .argument = "N",
     .help = "CPUs of each task (1)",
     .type = OPTION_INT,
     .min = 1,
     .max = MOST_CPUS,
     PLACE(cpus_per_task)},
    {.name = "cron",
     .argument = "SCHEDULE",
     .help = "submit it again and again: '0 3 * * *' (minute, hour, day, "
             "month, weekday), @daily, @hourly",
     .type = OPTION_CALL,
     .set = set_cron},
    {.name = "deadline",
     .argument = "TIME",
     .help = "end it by then, and do not start what cannot end before; times "
             "as of --begin",
     .type = OPTION_CALL,
     .set = set_deadline},
    {.name = "dependency",
     .letter = 'd',
     .argument = "LIST",
     .help = "start after other jobs: afterok:1041:1042, afterany:5, "
             "after:7+10 (minutes), aftercorr:9 (task by task), singleton; ? "
             "between them: any of them",
     .type = OPTION_CALL,
     .set = set_dependency,
     PLACE(dependency)},
    {.name = "distribution",
     .letter = 'm',
     .argument = "HOW",
     .help = "how to choose cores: pack, scatter or cyclic",
     .type = OPTION_CALL,
     .set = set_choice,
     .data = distributions,
     PLACE(distribution)},
    {.name = "dry-run",
     .help = "print the job that would be submitted; -o yaml or -o json then "
             "chooses the form",
     .type = OPTION_FLAG,
     PLACE(dry_run)},
    {.name = "error",
     .letter = 'e',
     .argument = "FILE",
     .help = "write the standard error there (where the output goes)",
     .type = OPTION_CALL,
     .set = set_path,
     PLACE(error)},
    {.name = "exclude",
     .letter = 'x',
     .argument = "NODES",
     .help = "not on these nodes: n1,n[4-7]",
     .type = OPTION_CALL,
     .set = set_constraint,
     PLACE(excluded)},
    {.name = "exclusive",
     .help = "the whole node, for this job alone",
     .type = OPTION_FLAG,
     PLACE(exclusive)},
    {.name = "export",
     .argument = "LIST",
     .help = "what of the environment goes along: ALL, NONE, or names and "
             "NAME=value (ALL)",
     .type = OPTION_TEXT,
     PLACE(exported)},
    {.name = "fence-after",
     .argument = "TIME",
     .help = "end the job when its node is cut off for so long, so that it "
             "can be started elsewhere; times as of -t",
     .type = OPTION_CALL,
     .set = set_duration,
     PLACE(fence_after_s)},
    {.name = "gpu-bind",
     .argument = "HOW",
     .help = "closest: GPUs beside the cores (what is done); none: anywhere",
     .type = OPTION_CALL,
     .set = set_choice,
     .data = gpu_bindings,
     PLACE(gpu_binding)},
    {.name = "gpus",
     .letter = 'G',
     .argument = "N[:TYPE]",
     .help = "GPUs, of any model or of one that is so called: 2, 1:a100",
     .type = OPTION_CALL,
     .set = set_gpus},
    {.name = "gres",
     .argument = "gpu[:TYPE][:N]",
     .help = "as --gpus, the way Slurm writes it",
     .type = OPTION_CALL,
     .set = set_gres},
    {.name = "hold",
     .letter = 'H',
     .help = "submit it held; 'kctl release' lets it start",
     .type = OPTION_FLAG,
     PLACE(hold)},
    {.name = "hugepages",
     .argument = "SIZE[:PAGE]",
     .help = "memory in huge pages, besides --mem: 1G (of 2M each), 4G:1G; "
             "several with commas",
     .type = OPTION_CALL,
     .set = set_hugepages},
    {.name = "input",
     .letter = 'i',
     .argument = "FILE",
     .help = "read the standard input from there (/dev/null)",
     .type = OPTION_CALL,
     .set = set_path,
     PLACE(input)},
    {.name = "job-name",
     .letter = 'J',
     .argument = "NAME",
     .help = "a name for people (the script's)",
     .type = OPTION_CALL,
     .set = set_job_name},
    {.name = "mem",
     .argument = "SIZE",
     .help = "memory of the job: 512M, 4G; a number alone is MiB",
     .type = OPTION_CALL,
     .set = set_memory,
     PLACE(memory_bytes)},
    {.name = "mem-bind",
     .argument = "HOW",
     .help = "where memory may come from: bind, preferred or interleave",
     .type = OPTION_CALL,
     .set = set_choice,
     .data = memory_policies,
     PLACE(memory_policy)},
    {.name = "mem-per-cpu",
     .argument = "SIZE",
     .help = "memory for each CPU, instead of --mem",
     .type = OPTION_CALL,
     .set = set_memory,
     PLACE(memory_per_cpu_bytes)},
    {.name = "no-requeue",
     .help = "the opposite of --requeue",
     .type = OPTION_CALL,
     .set = set_no_requeue},
    {.name = "no-sbatch",
     .help = "leave #SBATCH lines alone; they are read where a script has no "
             "#KSUB lines",
     .type = OPTION_FLAG,
     PLACE(no_sbatch)},
    {.name = "nodelist",
     .letter = 'w',
     .argument = "NODE",
     .help = "on this node",
     .type = OPTION_CALL,
     .set = set_constraint,
     PLACE(nodes)},
    {.name = "nodes",
     .letter = 'N',
     .argument = "N",
     .help = "how many nodes: 1",
     .type = OPTION_CALL,
     .set = set_node_count},
    {.name = "ntasks",
     .letter = 'n',
     .argument = "N",
     .help = "how many tasks the job starts; its CPUs are -n times -c (1)",
     .type = OPTION_INT,
     .min = 1,
     .max = MOST_CPUS,
     PLACE(tasks)},
    {.name = "numa",
     .argument = "POLICY",
     .help = "how strictly on one NUMA node: none, best-effort, restricted, "
             "single-numa-node",
     .type = OPTION_CALL,
     .set = set_choice,
     .data = numa_policies,
     PLACE(numa_policy)},
    {.name = "open-mode",
     .argument = "MODE",
     .help = "truncate output files, or append to them (truncate)",
     .type = OPTION_CALL,
     .set = set_open_mode},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .help = "write the standard output there (kiln-%j.out); %j is the job's "
             "id (of an array's task 1042_7), %A the job's alone and %a the "
             "task's, %x its name, %u the user, %N the node, %% a percent "
             "sign",
     .type = OPTION_CALL,
     .set = set_path,
     PLACE(output)},
    {.name = "parsable",
     .help = "print the id alone",
     .type = OPTION_FLAG,
     PLACE(parsable)},
    {.name = "partition",
     .letter = 'p',
     .argument = "NAME",
     .help = "on the nodes of this partition, or of one of several: a,b",
     .type = OPTION_CALL,
     .set = set_constraint,
     PLACE(partition)},
    {.name = "priority",
     .argument = "CLASS",
     .help = "a priority class, or (operators) a number",
     .type = OPTION_CALL,
     .set = set_priority},
    {.name = "requeue",
     .help = "start the job again when its node is lost, or it was "
             "preempted",
     .type = OPTION_FLAG,
     PLACE(requeue)},
    {.name = "reservation",
     .argument = "NAME",
     .help = "on the nodes of this reservation, while it is active",
     .type = OPTION_TEXT,
     PLACE(reservation)},
    {.name = "sbatch",
     .help = "read #SBATCH directives too, before those of #KSUB, and take "
             "sbatch's options; with --help, what becomes of each",
     .type = OPTION_FLAG,
     PLACE(sbatch)},
    {.name = "server",
     .argument = "URL",
     .help = "where kiln-controller is: http://head:6820, "
             "http+unix:///run/kiln/socket",
     .type = OPTION_TEXT,
     PLACE(server)},
    {.name = "shared",
     .argument = "CPUS",
     .help = "no cores of its own: share the node's pool, with the weight "
             "of so many CPUs (0.5)",
     .type = OPTION_CALL,
     .set = set_shared},
    {.name = "signal",
     .argument = "[B:]SIG[@SEC]",
     .help = "warn the job by a signal, seconds (60) before its time limit; "
             "B: the script alone",
     .type = OPTION_CALL,
     .set = set_signal},
    {.name = "test-only",
     .help = "let the controller check the job, but do not submit it",
     .type = OPTION_FLAG,
     PLACE(test_only)},
    {.name = "threads-per-core",
     .argument = "N",
     .help = "use so many hardware threads of each core",
     .type = OPTION_INT,
     .min = 1,
     .max = 64,
     PLACE(threads_per_core)},
    {.name = "time",
     .letter = 't',
     .argument = "TIME",
     .help = "limit of the run: minutes, mm:ss, hh:mm:ss, d-hh, d-hh:mm, "
             "d-hh:mm:ss",
     .type = OPTION_CALL,
     .set = set_duration,
     PLACE(time_limit_s)},
    {.name = "tmp",
     .argument = "SIZE",
     .help = "so much scratch of the job's own on its node, as TMPDIR, gone "
             "with its end: 512M, 4G; a number alone is MiB",
     .type = OPTION_CALL,
     .set = set_tmp,
     PLACE(tmp_bytes)},
    {.name = "wait",
     .letter = 'W',
     .help = "wait for the end of the job, and exit as it did",
     .type = OPTION_FLAG,
     PLACE(wait)},
    {.name = "wrap",
     .argument = "COMMAND",
     .help = "run this shell command instead of a script",
     .type = OPTION_TEXT,
     PLACE(wrapped)},
};

const struct option_table ksub_options = {
    .name = "ksub",
    .usage = "[OPTION]... SCRIPT [ARGUMENT]...\n"
             "[OPTION]... < SCRIPT\n"
             "[OPTION]... --wrap COMMAND",
    .summary =
        "Submit a batch job, and print its id. Options also stand in the "
        "script, in lines that begin with #KSUB, and in the environment as "
        "KSUB_TIME and the like; the command line wins over the script, and "
        "the script over the environment.",
    OPTION_ROWS(rows),
    .more = "Example: ksub -c 8 --mem 16G -t 2:00:00 simulate.sh",
    .has_version = true,
    .stops_at_operand = true,
};
