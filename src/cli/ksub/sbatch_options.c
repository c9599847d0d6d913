/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/sbatch_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/accelerators.h"
#include "cli/ksub/array_request.h"
#include "cli/ksub/ksub_options.h"
#include "cli/ksub/sbatch_values.h"
#include "cli/ksub/submission_set.h"
#include "cli/values/memory_size.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define MOST          INT64_C(1000000)
#define NODE_FILE_MAX 65536

#define PLACE(member) .offset = offsetof(struct submission, member)

/* ---- Options without an effect, and refused ones ---- */

/* Every node has one of each; a node of a certain shape cannot be asked for. */
static int
set_shape(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    if (value[0] != '\0' && value[strspn(value, "1*:")] == '\0')
        return sbatch_values_note(option, value, target, err);
    return error_set(err, -EOPNOTSUPP, "'%s': %s", value, (const char *)option->data);
}

static int
refuse(const struct option_spec *option, UNUSED const char *value, UNUSED void *target,
       struct error *err)
{
    return error_set(err, -EOPNOTSUPP, "%s", (const char *)option->data);
}

/* ---- Options that have a meaning on one node ---- */

static int
set_exclusive(UNUSED const struct option_spec *option, const char *value, void *target,
              struct error *err)
{
    if (value != NULL)
        return error_set(err, -EOPNOTSUPP,
                         "'%s': --exclusive keeps all other jobs off the "
                         "node; to keep only other users' jobs off, use a "
                         "partition that does so",
                         value);
    ((struct submission *)target)->exclusive = true;
    return 0;
}

/* Scripts have "<your-email>": a job is not refused for mail that nobody gets. */
static int
set_mail_user(UNUSED const struct option_spec *option, const char *value, void *target,
              struct error *err)
{
    static const struct option_spec none = {.name = "mail-user (not an address: no mail is sent)"};
    struct submission *s = target;
    const bool is_good = job_mail_check_addresses(value, NULL) == 0;

    s->mail_user = is_good ? value : "";
    return is_good ? 0 : sbatch_values_note(&none, value, target, err);
}

/* "2-4": any number between is right, and the smaller one is free first. */
static int
set_node_count(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    static const struct option_spec maximum = {.name = "nodes (its maximum)"};
    char least[24] = "";
    const size_t digits = strspn(value, "0123456789");
    const char *most = value[digits] == '-' ? value + digits + 1 : "";

    if (digits == 0 || digits >= sizeof(least) || most[0] == '\0'
        || most[strspn(most, "0123456789")] != '\0' || strtoll(value, NULL, 10) < 2
        || strtoll(most, NULL, 10) <= strtoll(value, NULL, 10))
        return submission_set_node_count(option, value, target, err);
    memcpy(least, value, digits);
    sbatch_values_note(&maximum, value, target, err);
    return submission_set_node_count(option, least, target, err);
}

/* The file has names of nodes, one a line or separated by commas. */
static int
set_node_file(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, list = STRBUF_INIT;
    char *rest = NULL;
    int r = file_read(value, NODE_FILE_MAX, &text, err);

    if (r < 0)
        return r;
    for (char *name = strtok_r(text.text, " \t\r\n", &rest); name != NULL;
         name = strtok_r(NULL, " \t\r\n", &rest))
        strbuf_printf(&list, "%s%s", list.length > 0 ? "," : "", name);
    if (list.length == 0)
        return error_set(err, -EINVAL, "'%s' names no node", value);
    r = submission_set_constraint(&(struct option_spec){.name = option->name, PLACE(nodes)},
                                  list.text, target, err);
    if (r < 0)
        return r;
    ((struct submission *)target)->nodes = sbatch_values_keep(list.text);
    return 0;
}

/* Accepts "none" besides GPUs and refuses other resources. */
static int
set_gres(UNUSED const struct option_spec *option, const char *value, void *target,
         struct error *err)
{
    return accelerators_parse_gres(strcasecmp(value, "none") == 0 ? "gpu:0" : value, target, err);
}

static int
set_array(UNUSED const struct option_spec *option, const char *value, void *target,
          struct error *err)
{
    return array_request_parse(value, true, target, err);
}

/* Templates have "--exclude=" for none. */
static int
set_excluded(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    if (value[0] != '\0')
        return submission_set_constraint(option, value, target, err);
    ((struct submission *)target)->excluded = NULL;
    return 0;
}

int
sbatch_set_gpus_per_task(UNUSED const struct option_spec *option, const char *value, void *target,
                         struct error *err)
{
    struct submission *s = target;
    struct submission one = {0};
    int r = accelerators_parse_gpus(value, &one, err);

    if (r < 0)
        return r;
    s->slurm.gpus_per_task = one.gpus;
    if (one.gpu_type[0] != '\0')
        memcpy(s->gpu_type, one.gpu_type, sizeof(s->gpu_type));
    return 0;
}

static int
set_tasks_per_core(const struct option_spec *option, const char *value, void *target,
                   struct error *err)
{
    struct submission *s = target;

    s->slurm.tasks_per_core = strtoll(value, NULL, 10);
    if (strcmp(value, "1") != 0)
        return sbatch_values_note(option, value, target, err);
    s->threads_per_core = 1;
    return 0;
}

/* 0 is all memory of the node, also of --mem-per-cpu: a job beside it would have none. */
static int
set_memory(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    struct submission *s = target;
    const size_t digits = strspn(value, "0");

    s->slurm.memory_options |= option->offset == offsetof(struct submission, memory_bytes)
                                   ? SUBMISSION_MEMORY
                                   : SUBMISSION_MEMORY_PER_CPU;
    s->slurm.has_all_memory = digits > 0
                              && strspn(value + digits, "KMGTkmgt") == strlen(value + digits)
                              && strlen(value + digits) <= 1;
    if (!s->slurm.has_all_memory)
        return submission_set_memory(option, value, target, err);
    s->memory_bytes = s->memory_per_cpu_bytes = 0;
    return 0;
}

static int
set_memory_per_gpu(UNUSED const struct option_spec *option, const char *value, void *target,
                   struct error *err)
{
    struct submission *s = target;

    s->slurm.memory_options |= SUBMISSION_MEMORY_PER_GPU;
    s->slurm.has_all_memory = value[0] != '\0' && value[strspn(value, "0")] == '\0';
    if (s->slurm.has_all_memory)
        return 0;
    return memory_size_parse(value, &s->slurm.memory_per_gpu_bytes, err);
}

/* ---- The table ---- */

#define COUNT(member)  .argument = "N", .type = OPTION_INT, .min = 1, .max = MOST, PLACE(member)
#define CALL(function) .type = OPTION_CALL, .set = (function)
#define NOTED(with)    .argument = (with), .help = "accepted, without effect", CALL(sbatch_values_note)
#define REFUSED(with, words) \
    .argument = (with), .help = "refused: " words, CALL(refuse), .data = (words)

#define SHAPE(with)                                                                   \
    .argument = (with), .help = "1: no effect; refused: " NO_SHAPES, CALL(set_shape), \
    .data = (NO_SHAPES)
#define NO_SHAPES                                                               \
    "jobs cannot ask for a shape of nodes; use -C, -p and -w to choose nodes, " \
    "--threads-per-core and -m to choose how cores are used"
#define NO_IMAGES \
    "start containers in the script: apptainer exec docker://IMAGE COMMAND, --bind for mounts"
#define ONE_CLUSTER "ksub submits to one cluster; --server URL chooses another one"

/* A row for an option that ksub has too contains only what differs. */
static const struct option_spec rows[] = {
    {.name = "acctg-freq", NOTED("FREQ")},
    {.name = "array", CALL(set_array)},
    {.name = "batch",
     REFUSED("LIST",
             "the script runs on the first node of its job; --constraint is for all of its nodes")},
    {.name = "bb",
     REFUSED("SPEC", "there are no burst buffers; --tmp SIZE "
                     "is scratch on the node")},
    {.name = "bbf",
     REFUSED("FILE", "there are no burst buffers; --tmp SIZE "
                     "is scratch on the node")},
    {.name = "begin", .letter = 'b'},
    {.name = "cluster",
     .argument = "NAME",
     .help = "same as --clusters",
     .type = OPTION_TEXT,
     PLACE(slurm.clusters)},
    {.name = "cluster-constraint", REFUSED("LIST", ONE_CLUSTER)},
    {.name = "clusters",
     .letter = 'M',
     .argument = "NAMES",
     .help = "this cluster, by its name; there is no other one to submit to",
     .type = OPTION_TEXT,
     PLACE(slurm.clusters)},
    {.name = "consolidate-segments", NOTED(NULL)},
    {.name = "container",
     REFUSED("PATH", "start containers in the script: apptainer exec IMAGE ...")},
    {.name = "container-id",
     REFUSED("ID", "start containers in the script: apptainer exec IMAGE ...")},
    {.name = "container-image", REFUSED("IMAGE", NO_IMAGES)},
    {.name = "container-mounts", REFUSED("LIST", NO_IMAGES)},
    {.name = "container-name", REFUSED("NAME", NO_IMAGES)},
    {.name = "container-workdir", REFUSED("DIR", NO_IMAGES)},
    {.name = "contiguous", NOTED(NULL)},
    {.name = "core-spec", .letter = 'S', NOTED("N")},
    {.name = "cores-per-socket", SHAPE("N")},
    {.name = "cpu-freq", NOTED("FREQ")},
    {.name = "cpus-per-gpu",
     .help = "CPUs for each GPU: times -G, for all tasks",
     COUNT(slurm.cpus_per_gpu)},
    {.name = "delay-boot", NOTED("MINUTES")},
    {.name = "distribution",
     .argument = "NODES[:CORES]",
     .help = "how to choose cores: block (pack), cyclic or scatter",
     CALL(sbatch_values_set_distribution)},
    {.name = "error", CALL(sbatch_values_set_path)},
    {.name = "exclude", CALL(set_excluded)},
    {.name = "exclusive", .argument = "[=WHO]", CALL(set_exclusive)},
    {.name = "export-file",
     .argument = "FILE",
     .help = "the job has only the variables in this file, each NAME=value and a NUL; a number "
             "is an open file descriptor",
     .type = OPTION_TEXT,
     PLACE(slurm.export_file)},
    {.name = "extra", NOTED("TEXT")},
    {.name = "extra-node-info", .letter = 'B', SHAPE("SHAPE")},
    {.name = "get-user-env", NOTED("[=TIMEOUT]")},
    {.name = "gid", REFUSED("GROUP", "a job runs as the user who submits it")},
    {.name = "gpu-bind",
     .help = "closest: GPUs near the cores (the default); none: anywhere; what is said about "
             "tasks (single, per_task, map_gpu, mask_gpu) has no effect",
     CALL(sbatch_values_set_gpu_binding)},
    {.name = "gpu-freq", NOTED("FREQ")},
    {.name = "gpus-per-socket", REFUSED("[TYPE:]N", "use --gpus; the GPUs are near the cores")},
    {.name = "gres", CALL(set_gres)},
    {.name = "gres-flags", NOTED("FLAGS")},
    {.name = "hint",
     .argument = "HOW",
     .help = "nomultithread, compute_bound: same as --threads-per-core 1; memory_bound: also one "
             "core of each socket; multithread: all hardware threads",
     CALL(sbatch_values_set_hint)},
    {.name = "ignore-pbs",
     .help = "same as --ignore-directives",
     .type = OPTION_FLAG,
     PLACE(ignore_directives)},
    {.name = "input", CALL(sbatch_values_set_path)},
    {.name = "kill-on-invalid-dep", NOTED("yes|no")},
    {.name = "licenses",
     .letter = 'L',
     REFUSED("LIST", "licenses are not counted; limit the number of jobs that "
                     "need one")},
    {.name = "mail-type", CALL(sbatch_values_set_mail_type)},
    {.name = "mail-user", CALL(set_mail_user)},
    {.name = "mcs-label",
     REFUSED("NAME", "the site decides which jobs share a node; --exclusive "
                     "keeps other jobs off")},
    {.name = "mem",
     .help = "memory of the job: 512M, 4G; a number alone is MiB; 0 is all memory of the node, so "
             "the job has the node for itself, as with --exclusive",
     CALL(set_memory)},
    {.name = "mem-bind",
     .help = "where memory may come from: local (bind), prefer (preferred) "
             "or interleave",
     CALL(sbatch_values_set_memory_policy)},
    {.name = "mem-per-cpu", CALL(set_memory)},
    {.name = "mem-per-gpu",
     .argument = "SIZE",
     .help = "memory for each GPU: times -G",
     CALL(set_memory_per_gpu)},
    {.name = "mincpus", .help = "at least this many CPUs on each node", COUNT(slurm.min_cpus)},
    {.name = "network", NOTED("TYPE")},
    {.name = "nice",
     .argument = "[=N]",
     .help = "lower the priority by this number (100) below that of its class; a negative number "
             "is for operators",
     CALL(sbatch_values_set_nice)},
    {.name = "no-kill", .letter = 'k', NOTED("[=off]")},
    {.name = "nodefile",
     .letter = 'F',
     .argument = "FILE",
     .help = "on the nodes that this file names, as with --nodelist",
     CALL(set_node_file)},
    {.name = "nodes",
     .help = "how many nodes (as few as -n allows); the script runs on the first of them. 2-4 is 2",
     CALL(set_node_count)},
    {.name = "ntasks-per-core",
     .argument = "N",
     .help = "1: same as --threads-per-core 1; other values have no effect",
     CALL(set_tasks_per_core)},
    {.name = "ntasks-per-gpu", .help = "tasks for each GPU: times -G", COUNT(slurm.tasks_per_gpu)},
    {.name = "ntasks-per-socket",
     .help = "CPUs for at most this many tasks from each socket",
     COUNT(slurm.tasks_per_socket)},
    {.name = "oom-kill-step", NOTED("[=0|1]")},
    {.name = "open-mode", CALL(sbatch_values_set_open_mode)},
    {.name = "output",
     .help = "write the standard output to this file (slurm-%j.out); %j and "
             "%J are the job's id (of an array's task 1042_7), %A the id of "
             "the job without the task, %a the task's, %x the job's name, %u "
             "the user, %N the node, %t and %n 0, %s batch",
     CALL(sbatch_values_set_path)},
    {.name = "overcommit",
     .letter = 'O',
     .help = "one CPU on each node for all tasks, which srun then starts on it",
     .type = OPTION_FLAG,
     PLACE(slurm.overcommits)},
    {.name = "oversubscribe", .letter = 's', NOTED(NULL)},
    {.name = "power", NOTED("FLAGS")},
    {.name = "prefer", NOTED("LIST")},
    {.name = "profile", NOTED("WHAT")},
    {.name = "propagate", NOTED("[=LIMITS]")},
    {.name = "qos",
     .letter = 'q',
     .argument = "NAME",
     .help = "the priority class of this name; no effect if there is none",
     .type = OPTION_TEXT,
     PLACE(slurm.qos)},
    {.name = "reboot", REFUSED(NULL, "only administrators restart nodes")},
    {.name = "resv-ports",
     REFUSED("[=N]", "ports are not assigned; let the program choose a free one "
                     "(port 0)")},
    {.name = "segment",
     REFUSED("N", "topology.levels decides how near nodes are; --switches N asks for few leaves")},
    {.name = "sockets-per-node", SHAPE("N")},
    {.name = "spread-job", NOTED(NULL)},
    {.name = "stepmgr", NOTED(NULL)},
    {.name = "tasks-per-node", .help = "same as --ntasks-per-node", COUNT(slurm.tasks_per_node)},
    {.name = "thread-spec", NOTED("N")},
    {.name = "time", CALL(sbatch_values_set_time)},
    {.name = "time-min", NOTED("TIME")},
    {.name = "tres-bind", NOTED("SPEC")},
    {.name = "tres-per-task", REFUSED("SPEC", "use -c, --gpus-per-task and --mem-per-cpu")},
    {.name = "uid", REFUSED("USER", "a job runs as the user who submits it")},
    {.name = "use-min-nodes", NOTED(NULL)},
    {.name = "verbose", .letter = 'v', NOTED(NULL)},
    {.name = "wait-all-nodes", NOTED("0|1")},
    {.name = "wckey", NOTED("KEY")},
    {.name = "workdir",
     .argument = "DIR",
     .help = "same as --chdir; an earlier name in sbatch",
     .type = OPTION_TEXT,
     PLACE(directory)},
    {.name = "x11",
     REFUSED("[=HOW]", "windows are not forwarded; use ssh -X to the node while "
                       "the job runs")},
};

/* ksub's row with the differences from sbatch's row. */
static struct option_spec
with_differences(const struct option_spec *ours, const struct option_spec *differences)
{
    struct option_spec row = *ours;

    if (differences->letter != 0)
        row.letter = differences->letter;
    if (differences->argument != NULL)
        row.argument = differences->argument;
    if (differences->help != NULL)
        row.help = differences->help;
    if (differences->set != NULL) {
        row.type = OPTION_CALL;
        row.set = differences->set;
        row.data = differences->data;
    }
    return row;
}

/* Whether sbatch of Slurm 22.05 does not have the option, so that the beginning of another option's
 * name does not mean it.
 */
static bool
is_extra(const char *name)
{
    static const char *const names[] = {
        "array-fail-fast",
        "chain",
        "checkpoint-command",
        "consolidate-segments",
        "container-id",
        "container-image",
        "container-mounts",
        "container-name",
        "container-workdir",
        "cron",
        "dry-run",
        "extra",
        "fence-after",
        "hugepages",
        "ignore-directives",
        "interactive",
        "no-sbatch",
        "no-wait",
        "numa",
        "oom-kill-step",
        "per-node",
        "pipeline",
        "resv-ports",
        "sbatch",
        "segment",
        "server",
        "shared",
        "stepmgr",
        "strict",
        "thread-bind",
        "tres-bind",
        "tres-per-task",
        "workdir",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Both tables, sorted by name. */
const struct option_table *
sbatch_options(void)
{
    static struct option_spec all[ARRAY_SIZE(rows) + 128];
    static struct option_table table;
    const struct option_table *ours = &ksub_options;
    size_t i = 0, j = 0, n = 0;

    if (table.n_options > 0)
        return &table;
    while ((i < ours->n_options || j < ARRAY_SIZE(rows)) && n < ARRAY_SIZE(all)) {
        int order = i == ours->n_options    ? 1
                    : j == ARRAY_SIZE(rows) ? -1
                                            : strcmp(ours->options[i].name, rows[j].name);

        if (order == 0)
            all[n++] = with_differences(&ours->options[i], &rows[j]);
        else
            all[n++] = order < 0 ? ours->options[i] : rows[j];
        i += order <= 0;
        j += order >= 0;
    }
    for (i = 0; i < n; i++)
        all[i].is_extra = is_extra(all[i].name);
    table = ksub_options;
    table.options = all;
    table.n_options = n;
    return &table;
}
