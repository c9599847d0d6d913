/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/kalloc_options.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ksub/ksub_options.h"
#include "cli/ksub/sbatch_options.h"
#include "cli/ksub/sbatch_settle.h"
#include "cli/ksub/submission_set.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/option.h"

#define ROWS_MOST 256u

/* Options of a script, of its files, or of several jobs. */
static const char *const of_scripts[] = {
    "array",
    "array-fail-fast",
    "batch",
    "chain",
    "checkpoint-command",
    "container",
    "cron",
    "dry-run",
    "error",
    "export",
    "export-file",
    "ignore-pbs",
    "input",
    "ignore-directives",
    "interactive",
    "no-requeue",
    "no-sbatch",
    "open-mode",
    "output",
    "parsable",
    "per-node",
    "pipeline",
    "propagate",
    "requeue",
    "sbatch",
    "shared",
    "strict",
    "test-only",
    "wait",
    "wrap",
};

static int
set_patience(UNUSED const struct option_spec *option, const char *value, void *target,
             struct error *err)
{
    struct kalloc_options *o = target;
    char *end = NULL;
    const long long n = value != NULL ? strtoll(value, &end, 10) : 1;

    if (value != NULL && (end == value || *end != '\0' || n < 0 || n > INT32_MAX))
        return error_set(err, -EINVAL, "'%s' is no number of seconds", value);
    o->has_patience = true;
    o->patience_s = n;
    return 0;
}

static int
set_no_bell(UNUSED const struct option_spec *option, UNUSED const char *value, void *target,
            UNUSED struct error *err)
{
    ((struct kalloc_options *)target)->rings_bell = false;
    return 0;
}

static int
set_kill_signal(UNUSED const struct option_spec *option, const char *value, void *target,
                struct error *err)
{
    struct kalloc_options *o = target;

    if (value == NULL) {
        o->kill_signal = SIGTERM;
        return 0;
    }
    o->kill_signal = pod_signal_number(value);
    return o->kill_signal > 0 ? 0 : error_set(err, -EINVAL, "'%s' is no signal", value);
}

static int
refuse_of_scripts(UNUSED const struct option_spec *option, UNUSED const char *value,
                  UNUSED void *target, struct error *err)
{
    return error_set(err, -EINVAL, "a job with --interactive has no script, to which this belongs");
}

#define PLACE(member) .offset = offsetof(struct kalloc_options, member)

static const struct option_spec own_rows[] = {
    {.name = "bell",
     .help = "ring the terminal's bell when the job starts",
     .type = OPTION_FLAG,
     PLACE(rings_bell)},
    {.name = "detach",
     .help =
         "wait for the start, print the job's id and end; the job goes on until its time limit, "
         "or until it is cancelled",
     .type = OPTION_FLAG,
     PLACE(is_detached)},
    {.name = "immediate",
     .letter = 'I',
     .argument = "[=SECONDS]",
     .help = "give up if the job has not started within SECONDS (1)",
     .type = OPTION_CALL,
     .set = set_patience},
    {.name = "kill-command",
     .letter = 'K',
     .argument = "[=SIGNAL]",
     .help = "the signal that COMMAND gets when the job ends before it (TERM); otherwise HUP on a "
             "terminal, TERM elsewhere",
     .type = OPTION_CALL,
     .set = set_kill_signal},
    {.name = "no-bell", .help = "the opposite of --bell", .type = OPTION_CALL, .set = set_no_bell},
    {.name = "no-shell", .help = "same as --detach", .type = OPTION_FLAG, PLACE(is_detached)},
};

static bool
is_of_scripts(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(of_scripts); i++)
        if (strcmp(of_scripts[i], name) == 0)
            return true;
    return false;
}

static int
compare(const void *a, const void *b)
{
    return strcmp(((const struct option_spec *)a)->name, ((const struct option_spec *)b)->name);
}

/* There is no script. */
static struct option_spec
with_own_words(const struct option_spec *base, const char *name)
{
    static const struct {
        const char *name, *help;
    } words[] = {
        {"chdir", "run COMMAND in this directory (default: the current one)"},
        {"job-name", "the job's name (default: COMMAND's, or interactive)"},
        {"no-wait", "fail at once if the controller cannot be reached; otherwise it is tried for "
                    "half a minute"},
        {"nodes", "how many nodes. -n and -G are for all nodes, --mem and the other amounts for "
                  "each (default: as few as -n allows)"},
        {"ntasks", "how many tasks; the job gets -n times -c CPUs (1), on one node if one has as "
                   "many"},
        {"quiet", "print only errors"},
    };
    struct option_spec row = *base;

    for (size_t i = 0; strcmp(name, "ksub") != 0 && i < ARRAY_SIZE(words); i++)
        if (strcmp(row.name, words[i].name) == 0)
            row.help = words[i].help;
    if (strcmp(name, "salloc") == 0 && strcmp(row.name, "job-name") == 0)
        row.help = "the job's name (default: interactive; no-shell with --no-shell)";
    return row;
}

static const struct option_table *
options_table(const char *name)
{
    static struct option_spec all[ROWS_MOST];
    static struct option_table table;
    const bool is_slurms = strcmp(name, "salloc") == 0 || strcmp(name, "srun") == 0;
    const bool is_ksub = strcmp(name, "ksub") == 0;
    const struct option_table *base = is_slurms ? sbatch_options() : &ksub_options;
    size_t n = 0;

    if (table.n_options > 0)
        return &table;
    for (size_t i = 0; i < base->n_options && n < ROWS_MOST - ARRAY_SIZE(own_rows); i++)
        if (!is_of_scripts(base->options[i].name)
            || (is_ksub && strcmp(base->options[i].name, "interactive") == 0))
            all[n++] = with_own_words(&base->options[i], name);
        else if (is_ksub)
            all[n++] = (struct option_spec){
                .name = base->options[i].name,
                .letter = base->options[i].letter,
                .argument = base->options[i].argument,
                .type = OPTION_CALL,
                .set = refuse_of_scripts,
            };
    for (size_t i = 0; i < ARRAY_SIZE(own_rows); i++) {
        all[n] = own_rows[i];
        if (is_ksub && all[n].letter == 'I')
            all[n].letter = 0; /* --interactive has it */
        n++;
    }
    qsort(all, n, sizeof(*all), compare);
    table = (struct option_table){
        .name = name,
        .usage = "[OPTION]... [COMMAND [ARGUMENT]...]",
        .summary =
            "Allocate nodes and CPUs, and run COMMAND (otherwise a shell) here while the "
            "job has them: krun and srun in it start tasks there. The job ends with COMMAND, "
            "whose exit status is also that of this program.",
        .options = all,
        .n_options = n,
        .more =
            "A job whose kalloc is killed ends at once. It ends as well when the machine of its "
            "kalloc has not been heard of for 90 seconds.\n\n"
            "Example: kalloc -N 2 -n 8 -t 1:00:00",
        .has_version = true,
        .stops_at_operand = true,
    };
    return &table;
}

bool
kalloc_options_has(const char *option)
{
    const struct option_table *table = options_table("srun");

    for (size_t i = 0; i < table->n_options; i++)
        if (strcmp(table->options[i].name, option) == 0)
            return true;
    return false;
}

void
kalloc_options_help(const char *name, struct strbuf *out)
{
    option_format_help(options_table(name), out);
}

/* ---- Variables ---- */

struct kalloc_variable {
    const char *variable, *option;
};

static const struct kalloc_variable of_srun[] = {
    {"SLURM_ACCOUNT", "account"},
    {"SLURM_ACCTG_FREQ", "acctg-freq"},
    {"SLURM_BURST_BUFFER", "bb"},
    {"SLURM_CLUSTERS", "clusters"},
    {"SLURM_CONSTRAINT", "constraint"},
    {"SLURM_CORE_SPEC", "core-spec"},
    {"SLURM_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SLURM_DELAY_BOOT", "delay-boot"},
    {"SLURM_DEPENDENCY", "dependency"},
    {"SLURM_DISTRIBUTION", "distribution"},
    {"SLURM_EXCLUSIVE", "exclusive"},
    {"SLURM_GPUS", "gpus"},
    {"SLURM_GPUS_PER_NODE", "gpus-per-node"},
    {"SLURM_GPUS_PER_TASK", "gpus-per-task"},
    {"SLURM_GPU_BIND", "gpu-bind"},
    {"SLURM_GPU_FREQ", "gpu-freq"},
    {"SLURM_GRES", "gres"},
    {"SLURM_GRES_FLAGS", "gres-flags"},
    {"SLURM_HINT", "hint"},
    {"SLURM_IMMEDIATE", "immediate"},
    {"SLURM_JOB_NAME", "job-name"},
    {"SLURM_JOB_NUM_NODES", "nodes"},
    {"SLURM_MEM_BIND", "mem-bind"},
    {"SLURM_MEM_PER_CPU", "mem-per-cpu"},
    {"SLURM_MEM_PER_GPU", "mem-per-gpu"},
    {"SLURM_MEM_PER_NODE", "mem"},
    {"SLURM_NETWORK", "network"},
    {"SLURM_NNODES", "nodes"},
    {"SLURM_NO_KILL", "no-kill"},
    {"SLURM_NTASKS", "ntasks"},
    {"SLURM_NTASKS_PER_CORE", "ntasks-per-core"},
    {"SLURM_NTASKS_PER_GPU", "ntasks-per-gpu"},
    {"SLURM_NTASKS_PER_NODE", "ntasks-per-node"},
    {"SLURM_NTASKS_PER_SOCKET", "ntasks-per-socket"},
    {"SLURM_OVERCOMMIT", "overcommit"},
    {"SLURM_PARTITION", "partition"},
    {"SLURM_POWER", "power"},
    {"SLURM_PROFILE", "profile"},
    {"SLURM_QOS", "qos"},
    {"SLURM_REMOTE_CWD", "chdir"},
    {"SLURM_REQ_SWITCH", "switches"},
    {"SLURM_RESERVATION", "reservation"},
    {"SLURM_SIGNAL", "signal"},
    {"SLURM_SPREAD_JOB", "spread-job"},
    {"SLURM_THREADS_PER_CORE", "threads-per-core"},
    {"SLURM_THREAD_SPEC", "thread-spec"},
    {"SLURM_TIMELIMIT", "time"},
    {"SLURM_USE_MIN_NODES", "use-min-nodes"},
    {"SLURM_WCKEY", "wckey"},
    {"SLURM_WORKING_DIR", "chdir"},
    {"SRUN_CPUS_PER_TASK", "cpus-per-task"},
};

/* KSUB_TIME is ksub's; SALLOC_TIMELIMIT salloc's. Of two the later one counts. */
static const struct kalloc_variable of_salloc[] = {
    {"SLURM_CLUSTERS", "clusters"},
    {"SLURM_HINT", "hint"},
    {"SALLOC_ACCOUNT", "account"},
    {"SALLOC_ACCTG_FREQ", "acctg-freq"},
    {"SALLOC_BELL", "bell"},
    {"SALLOC_BURST_BUFFER", "bb"},
    {"SALLOC_CLUSTERS", "clusters"},
    {"SALLOC_CONSTRAINT", "constraint"},
    {"SALLOC_CONTAINER", "container"},
    {"SALLOC_CORE_SPEC", "core-spec"},
    {"SALLOC_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SALLOC_DEBUG", "verbose"},
    {"SALLOC_DELAY_BOOT", "delay-boot"},
    {"SALLOC_EXCLUSIVE", "exclusive"},
    {"SALLOC_GPUS", "gpus"},
    {"SALLOC_GPUS_PER_NODE", "gpus-per-node"},
    {"SALLOC_GPUS_PER_TASK", "gpus-per-task"},
    {"SALLOC_GPU_BIND", "gpu-bind"},
    {"SALLOC_GPU_FREQ", "gpu-freq"},
    {"SALLOC_GRES", "gres"},
    {"SALLOC_GRES_FLAGS", "gres-flags"},
    {"SALLOC_HINT", "hint"},
    {"SALLOC_IMMEDIATE", "immediate"},
    {"SALLOC_KILL_CMD", "kill-command"},
    {"SALLOC_MEM_BIND", "mem-bind"},
    {"SALLOC_MEM_PER_CPU", "mem-per-cpu"},
    {"SALLOC_MEM_PER_GPU", "mem-per-gpu"},
    {"SALLOC_MEM_PER_NODE", "mem"},
    {"SALLOC_NETWORK", "network"},
    {"SALLOC_NO_BELL", "no-bell"},
    {"SALLOC_NO_KILL", "no-kill"},
    {"SALLOC_OVERCOMMIT", "overcommit"},
    {"SALLOC_PARTITION", "partition"},
    {"SALLOC_POWER", "power"},
    {"SALLOC_PROFILE", "profile"},
    {"SALLOC_QOS", "qos"},
    {"SALLOC_REQ_SWITCH", "switches"},
    {"SALLOC_RESERVATION", "reservation"},
    {"SALLOC_SIGNAL", "signal"},
    {"SALLOC_SPREAD_JOB", "spread-job"},
    {"SALLOC_THREADS_PER_CORE", "threads-per-core"},
    {"SALLOC_THREAD_SPEC", "thread-spec"},
    {"SALLOC_TIMELIMIT", "time"},
    {"SALLOC_USE_MIN_NODES", "use-min-nodes"},
    {"SALLOC_WAIT_ALL_NODES", "wait-all-nodes"},
    {"SALLOC_WCKEY", "wckey"},
};

/* Slurm: a flag is given by nothing, "yes" or a number other than 0. */
static bool
is_given(const char *value)
{
    return value[0] == '\0' || strcasecmp(value, "yes") == 0 || atoi(value) != 0;
}

static bool
is_switches(const struct option_spec *row)
{
    return strcmp(row->name, "switches") == 0;
}

static int
set_variable(const struct option_spec *row, const char *value, struct kalloc_options *o,
             struct error *err)
{
    const char *wait = getenv(o->is_srun ? "SLURM_WAIT4SWITCH" : "SALLOC_WAIT4SWITCH");
    const bool is_optional = row->argument != NULL && row->argument[0] == '[';
    CLEANUP_FREE char *both = NULL;

    if (row->argument == NULL)
        return is_given(value) ? option_set(row, NULL, o, err) : 0;
    if (value[0] == '\0')
        return is_optional ? option_set(row, NULL, o, err) : 0;
    if (is_switches(row) && wait != NULL && wait[0] != '\0' && strchr(value, '@') == NULL) {
        both = xasprintf("%s@%s", value, wait);
        value = both; /* only numbers are kept of it */
    }
    return option_set(row, value, o, err);
}

static int
read_variables(const struct option_table *table, struct kalloc_options *o, struct error *err)
{
    const struct kalloc_variable *variables = o->is_srun ? of_srun : of_salloc;
    const size_t count = o->is_srun ? ARRAY_SIZE(of_srun) : ARRAY_SIZE(of_salloc);

    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(variables[i].variable);

        for (size_t j = 0; value != NULL && j < table->n_options; j++) {
            const struct option_spec *row = &table->options[j];
            int r;

            if (strcmp(row->name, variables[i].option) != 0)
                continue;
            r = set_variable(row, value, o, err);
            if (r < 0)
                return error_wrap(err, r, "%s", variables[i].variable);
        }
    }
    return 0;
}

static bool
is_no(const char *value)
{
    static const char *const words[] = {"", "0", "no", "n", "false", "f", "off"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

/* KSUB_MEM_PER_CPU is --mem-per-cpu. */
static int
read_ksub_variable(const struct option_spec *row, struct kalloc_options *o, struct error *err)
{
    char name[64];
    const char *value;
    int r;

    snprintf(name, sizeof(name), "KSUB_%s", row->name);
    for (char *p = name; *p != '\0'; p++)
        *p = (char)(*p == '-' ? '_' : toupper((unsigned char)*p));
    value = getenv(name);
    if (value == NULL || (row->argument == NULL && is_no(value)))
        return 0;
    r = option_set(row, row->argument != NULL ? value : NULL, o, err);
    return r < 0 ? error_wrap(err, r, "%s", name) : 0;
}

/* Those of ksub --interactive that are the job's: scripts have variables, too. */
static int
read_ksub_variables(const struct option_table *table, struct kalloc_options *o, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < table->n_options && r == 0; i++)
        if (!is_of_scripts(table->options[i].name))
            r = read_ksub_variable(&table->options[i], o, err);
    return r;
}

int
kalloc_options_read(const char *name, int argc, char **argv, struct kalloc_options *o,
                    int *ret_operands, struct error *err)
{
    const struct option_table *table = options_table(name);
    struct submission *s = &o->s;
    int r = 0;

    *o = (struct kalloc_options){
        .is_srun = strcmp(name, "srun") == 0,
        .is_interactive = strcmp(name, "ksub") == 0,
    };
    o->is_slurms = o->is_srun || strcmp(name, "salloc") == 0;
    s->is_slurms = o->is_slurms;
    if (o->is_slurms)
        r = read_variables(table, o, err);
    else if (o->is_interactive)
        r = read_ksub_variables(table, o, err);
    if (r == 0)
        r = option_parse(table, argc, argv, o, ret_operands, err);
    if (r != 0)
        return r;
    o->asked = *s;
    r = sbatch_settle(s, err);
    if (r == 0)
        r = submission_set_order(s, err);
    if (r < 0)
        return r;
    /* A job of salloc is not named after its command. */
    if (s->job_name == NULL && *ret_operands < argc && (o->is_srun || !o->is_slurms)) {
        const char *slash = strrchr(argv[*ret_operands], '/');

        s->job_name = slash != NULL && slash[1] != '\0' ? slash + 1 : argv[*ret_operands];
    }
    if (s->job_name == NULL)
        s->job_name = o->is_slurms && o->is_detached ? "no-shell" : "interactive";
    o->asked.job_name = s->job_name;
    s->output = "/dev/null";
    s->exported = "NONE"; /* the command has its variables from here */
    return 0;
}
