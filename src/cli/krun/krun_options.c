/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/krun/krun_mpi.h"
#include "cli/values/gpu_request.h"
#include "cli/values/memory_size.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/option.h"
#include "lib/step/step_binding.h"
#include "lib/step/step_distribution.h"
#include "lib/step/step_output_name.h"

#define AT(member)     .offset = offsetof(struct krun_settings, member)
#define AT_REQ(member) .offset = offsetof(struct krun_settings, request.member)

/* --- options that are not the step's ----------------------------------------
 */

/* ---- Variables ---- */

static const struct {
    const char *variable, *option;
} variables[] = {
    {"SLURM_NTASKS", "ntasks"},
    {"SLURM_JOB_NUM_NODES", "nodes"},
    {"SLURM_NNODES", "nodes"},
    {"SLURM_NTASKS_PER_NODE", "ntasks-per-node"},
    {"SRUN_CPUS_PER_TASK", "cpus-per-task"},
    {"SLURM_CPU_BIND", "cpu-bind"},
    {"SLURM_DISTRIBUTION", "distribution"},
    {"SLURM_EXPORT_ENV", "export"},
    {"SRUN_EXPORT_ENV", "export"},
    {"SLURM_GPUS_PER_TASK", "gpus-per-task"},
    {"SLURM_STEP_GRES", "gres"},
    {"SLURM_IMMEDIATE", "immediate"},
    {"SLURM_KILL_BAD_EXIT", "kill-on-bad-exit"},
    {"SLURM_MPI_TYPE", "mpi"},
    {"SLURM_OPEN_MODE", "open-mode"},
    {"SLURM_PROLOG", "prolog"},
    {"SLURM_EPILOG", "epilog"},
    {"SLURM_TASK_PROLOG", "task-prolog"},
    {"SLURM_TASK_EPILOG", "task-epilog"},
    {"SLURM_REMOTE_CWD", "chdir"},
    {"SLURM_SIGNAL", "signal"},
    {"SLURM_STDERRMODE", "error"},
    {"SLURM_STDINMODE", "input"},
    {"SLURM_STDOUTMODE", "output"},
    {"SLURM_TIMELIMIT", "time"},
    {"SLURM_WAIT", "wait"},
    {"SLURM_DEBUG", "verbose"},
    {"SRUN_DEBUG", "verbose"},
};

/* Any value but 0 and "no" means that the option is given. */
static const struct {
    const char *variable;
    size_t offset;
} flags[] = {
    {"SLURM_DISABLE_STATUS", offsetof(struct krun_settings, ends_at_first_interrupt)},
    {"SLURM_EXACT", offsetof(struct krun_settings, request.is_exact)},
    {"SLURM_LABELIO", offsetof(struct krun_settings, labels)},
    {"SLURM_OVERCOMMIT", offsetof(struct krun_settings, request.overcommits)},
    {"SLURM_OVERLAP", offsetof(struct krun_settings, request.overlaps)},
    {"SLURM_UNBUFFEREDIO", offsetof(struct krun_settings, is_unbuffered)},
    {"SLURM_WHOLE", offsetof(struct krun_settings, takes_whole_nodes)},
};

static const struct option_spec *
find_row(const char *name)
{
    for (size_t i = 0; i < krun_options.n_options; i++)
        if (strcmp(krun_options.options[i].name, name) == 0)
            return &krun_options.options[i];
    return NULL;
}

/* A plane's size is in a variable of its own. */
static const char *
with_size(const char *variable, const char *value)
{
    static char plane[32];
    const char *size = getenv("SLURM_DIST_PLANESIZE");

    if (strcmp(variable, "SLURM_DISTRIBUTION") != 0 || strcasecmp(value, "plane") != 0
        || size == NULL || strlen(size) > 16)
        return value;
    snprintf(plane, sizeof(plane), "plane=%s", size);
    return plane;
}

/* Before the command line, which counts more. Numbers of tasks and nodes that come from
 * here are the job's (has_tasks and the others stay false). -EINVAL, with the variable.
 */
static int
read_variables(struct krun_settings *s, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *value = getenv(variables[i].variable);
        const struct option_spec *row = find_row(variables[i].option);
        int r = 0;

        if (value == NULL || value[0] == '\0' || row == NULL)
            continue;
        r = option_set(row, with_size(variables[i].variable, value), s, err);
        if (r < 0)
            return error_wrap(err, r, "%s", variables[i].variable);
    }
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        const char *value = getenv(flags[i].variable);

        if (value != NULL)
            *(bool *)((char *)s + flags[i].offset) =
                strcmp(value, "0") != 0 && strcasecmp(value, "no") != 0;
    }
    s->has_tasks = s->has_nodes = s->has_tasks_per_node = false;
    return 0;
}

/* ---- Options ---- */

static int
set_note(const struct option_spec *option, UNUSED const char *value, void *target,
         UNUSED struct error *err)
{
    struct krun_settings *s = target;

    for (unsigned i = 0; i < s->n_notes; i++)
        if (strcmp(s->notes[i], option->name) == 0)
            return 0;
    if (s->n_notes < KRUN_NOTES_MOST)
        s->notes[s->n_notes++] = option->name;
    return 0;
}

static int
refuse(const struct option_spec *option, UNUSED const char *value, UNUSED void *target,
       struct error *err)
{
    return error_set(err, -EOPNOTSUPP, "%s", (const char *)option->data);
}

/* Accepted if the value is one of the words in `data`, which are what krun does anyway;
 * the text after the last word, behind a colon, says what else to do.
 */
static int
set_usual(const struct option_spec *option, const char *value, UNUSED void *target,
          struct error *err)
{
    const char *words = option->data, *colon = strchr(words, ':');

    while (words < colon) {
        const size_t length = strcspn(words, ",:");

        if (value != NULL && strlen(value) == length && strncasecmp(words, value, length) == 0)
            return 0;
        words += length + 1;
    }
    return error_set(err, -EOPNOTSUPP, "'%.80s':%s", value != NULL ? value : "", colon + 1);
}

/* Memory is near the CPUs of the job already, or where the job's --mem-bind says. */
static int
set_memory_binding(const struct option_spec *option, const char *value, void *target,
                   struct error *err)
{
    static const struct option_spec usual = {.data = "none,no,local,q,quiet,q,local:"};

    return set_usual(&usual, value, target, NULL) == 0 ? 0 : set_note(option, value, target, err);
}

/* --- numbers ---------------------------------------------------------------
 */

static int
parse_count(const char *text, int64_t least, int64_t most, int64_t *ret_n, struct error *err)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || n < least || n > most)
        return error_set(err, -EINVAL,
                         "Invalid numeric value \"%.40s\": a number from %" PRId64 " to %" PRId64
                         " is needed",
                         text, least, most);
    *ret_n = n;
    return 0;
}

static int
set_tasks(UNUSED const struct option_spec *option, const char *value, void *target,
          struct error *err)
{
    struct krun_settings *s = target;

    s->has_tasks = true;
    return parse_count(value, 1, STEP_TASKS_MOST, &s->request.tasks, err);
}

static int
set_tasks_per_node(UNUSED const struct option_spec *option, const char *value, void *target,
                   struct error *err)
{
    struct krun_settings *s = target;

    s->has_tasks_per_node = true;
    return parse_count(value, 1, STEP_TASKS_MOST, &s->request.tasks_per_node, err);
}

/* "2" or "2-4" */
static int
set_nodes(UNUSED const struct option_spec *option, const char *value, void *target,
          struct error *err)
{
    struct krun_settings *s = target;
    const size_t digits = strspn(value, "0123456789");
    char least[24] = "";
    int r;

    if (digits == 0 || digits >= sizeof(least) || (value[digits] != '\0' && value[digits] != '-'))
        return error_set(err, -EINVAL, "'%.40s' is no number of nodes such as 2 or 2-4", value);
    memcpy(least, value, digits);
    r = parse_count(least, 1, STEP_NODES_MOST, &s->request.min_nodes, err);
    s->request.max_nodes = s->request.min_nodes;
    if (r == 0 && value[digits] == '-')
        r = parse_count(value + digits + 1, s->request.min_nodes, INT32_MAX, &s->request.max_nodes,
                        err);
    s->has_nodes = true;
    return r;
}

static int
set_memory(UNUSED const struct option_spec *option, const char *value, void *target,
           struct error *err)
{
    struct krun_settings *s = target;

    /* Slurm: all memory of the job, which a step has anyway. */
    if (strcmp(value, "0") == 0)
        return 0;
    return memory_size_parse(value, &s->request.memory_bytes, err);
}

static int
set_time(UNUSED const struct option_spec *option, const char *value, void *target,
         struct error *err)
{
    return duration_parse(value, &((struct krun_settings *)target)->time_limit_s, err);
}

static int
parse_gpus(const char *value, int64_t *ret_count, struct error *err)
{
    struct gpu_request request = {0};
    int r;

    if (strcmp(value, "0") == 0 || strcasecmp(value, "none") == 0) {
        *ret_count = 0;
        return 0;
    }
    r = gpu_request_parse(value, &request, err);
    if (r < 0)
        return r;
    if (request.count > STEP_CPUS_MOST)
        return error_set(err, -EINVAL, "'%.40s': too many GPUs", value);
    *ret_count = request.count;
    return 0;
}

static int
set_gpus(UNUSED const struct option_spec *option, const char *value, void *target,
         struct error *err)
{
    struct krun_settings *s = target;
    int r = parse_gpus(value, &s->gpus, err);

    s->has_no_gpus = r == 0 && s->gpus == 0;
    return r;
}

static int
set_gpus_per_node(UNUSED const struct option_spec *option, const char *value, void *target,
                  struct error *err)
{
    struct krun_settings *s = target;
    int r = parse_gpus(value, &s->request.gpus_per_node, err);

    s->has_no_gpus = r == 0 && s->request.gpus_per_node == 0;
    return r;
}

static int
set_gpus_per_task(UNUSED const struct option_spec *option, const char *value, void *target,
                  struct error *err)
{
    struct krun_settings *s = target;
    int r = parse_gpus(value, &s->request.gpus_per_task, err);

    s->has_no_gpus = r == 0 && s->request.gpus_per_task == 0;
    return r;
}

/* "none", "gpu", "gpu:2", "gpu:a100:2" */
static int
set_gres(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    const char *gres = strncmp(value, "gres/", 5) == 0 ? value + 5 : value;

    if (strcasecmp(gres, "none") == 0)
        return set_gpus_per_node(option, "0", target, err);
    if (strncmp(gres, "gpu", 3) != 0 || (gres[3] != '\0' && gres[3] != ':' && gres[3] != '=')
        || strchr(gres, ',') != NULL)
        return error_set(err, -EOPNOTSUPP, "'%.80s': a step can only have GPUs (gpu:2), or none",
                         value);
    return set_gpus_per_node(option, gres[3] == '\0' ? "1" : gres + 4, target, err);
}

/* --- words -----------------------------------------------------------------
 */

static int
set_binding(UNUSED const struct option_spec *option, const char *value, void *target,
            struct error *err)
{
    struct krun_settings *s = target;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_binding binding;

    s->request.cpu_bind = value;
    return step_binding_parse(arena, value, &binding, err);
}

static int
set_distribution(UNUSED const struct option_spec *option, const char *value, void *target,
                 struct error *err)
{
    struct krun_settings *s = target;
    struct step_distribution distribution;

    /* Agents of the release before read only "*,Pack". */
    if (strcasecmp(value, "pack") == 0)
        value = "*,Pack";
    else if (strcasecmp(value, "nopack") == 0)
        value = "*,NoPack";
    s->request.distribution = value;
    return step_distribution_parse(value, &distribution, err);
}

static int
set_file(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    const char **file = (const char **)((char *)target + option->offset);

    if (value[0] == '\0')
        return error_set(err, -EINVAL, "a name of a file is needed");
    if (strlen(value) >= STEP_PATTERN_MOST)
        return error_set(err, -EINVAL, "the name is too long");
    *file = value;
    return step_output_name_check(value, err);
}

static int
set_open_mode(UNUSED const struct option_spec *option, const char *value, void *target,
              struct error *err)
{
    struct krun_settings *s = target;

    if (strcasecmp(value, "append") != 0 && strcasecmp(value, "a") != 0
        && strcasecmp(value, "truncate") != 0 && strcasecmp(value, "t") != 0)
        return error_set(err, -EINVAL, "'%.40s' is neither append nor truncate", value);
    s->request.streams.appends = tolower((unsigned char)value[0]) == 'a';
    return 0;
}

static int
set_kill(UNUSED const struct option_spec *option, const char *value, void *target,
         struct error *err)
{
    struct krun_settings *s = target;

    s->kills_on_bad_exit = 1;
    return value != NULL ? parse_count(value, 0, 1, &s->kills_on_bad_exit, err) : 0;
}

static int
set_immediate(UNUSED const struct option_spec *option, const char *value, void *target,
              struct error *err)
{
    struct krun_settings *s = target;

    s->patience_s = 0;
    return value != NULL ? parse_count(value, 0, INT32_MAX, &s->patience_s, err) : 0;
}

static int
find_signal(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);

    if (end != name && *end == '\0')
        return number > 0 && number <= SIGRTMAX ? (int)number : 0;
    if (strncasecmp(name, "SIG", 3) == 0)
        name += 3;
    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);

        if (known != NULL && strcasecmp(known, name) == 0)
            return i;
    }
    return 0;
}

/* "[R:]USR1[@120]" */
static int
set_signal(UNUSED const struct option_spec *option, const char *value, void *target,
           struct error *err)
{
    struct krun_settings *s = target;
    const char *name = strncasecmp(value, "R:", 2) == 0 ? value + 2 : value;
    const char *at = strchrnul(name, '@');
    char word[16] = "";

    s->signal_before_s = 60;
    if ((size_t)(at - name) < sizeof(word))
        memcpy(word, name, (size_t)(at - name));
    s->signal = find_signal(word);
    if (s->signal == 0)
        return error_set(err, -EINVAL,
                         "'%.40s' is not a signal with the seconds before the limit, such as "
                         "USR1@120",
                         value);
    return *at == '@' ? parse_count(at + 1, 0, 65535, &s->signal_before_s, err) : 0;
}

static int
set_verbose(UNUSED const struct option_spec *option, const char *value, void *target,
            struct error *err)
{
    struct krun_settings *s = target;

    if (value != NULL)
        return parse_count(value, 0, 9, &s->verbosity, err);
    s->verbosity++;
    return 0;
}

/* `--exclusive` alone is --exact for a step, as srun --help says. */
static int
set_exclusive(UNUSED const struct option_spec *option, const char *value, void *target,
              struct error *err)
{
    if (value != NULL && value[0] != '\0')
        return error_set(err, -EOPNOTSUPP, "'%.40s': only a job can have a node for one user",
                         value);
    ((struct krun_settings *)target)->request.is_exact = true;
    return 0;
}

static int
set_propagate(UNUSED const struct option_spec *option, const char *value, void *target,
              UNUSED struct error *err)
{
    ((struct krun_settings *)target)->limits = value != NULL ? value : "ALL";
    return 0;
}

/* Options that are those of the job which the step is a part of. */
#define JOB(name_, letter_, argument_)                                                      \
    {                                                                                       \
        .name = (name_), .letter = (letter_), .argument = (argument_), .type = OPTION_CALL, \
        .set = set_note                                                                     \
    }
#define REFUSED(name_, letter_, argument_, why)                                             \
    {                                                                                       \
        .name = (name_), .letter = (letter_), .argument = (argument_), .type = OPTION_CALL, \
        .set = refuse, .data = (why)                                                        \
    }
#define USUAL(name_, letter_, argument_, words)                                             \
    {                                                                                       \
        .name = (name_), .letter = (letter_), .argument = (argument_), .type = OPTION_CALL, \
        .set = set_usual, .data = (words)                                                   \
    }

static const struct option_spec rows[] = {
    {"ntasks", 'n', "N", "start N tasks; without it, the job's number of tasks", OPTION_CALL,
     .set = set_tasks},
    {"cpus-per-task", 'c', "N",
     "give each task N CPUs; without it, what a task of the job has, or fewer if the tasks would "
     "not fit then",
     OPTION_INT, AT_REQ(cpus_per_task), .min = 1, .max = STEP_CPUS_MOST},
    {"exact", 0, NULL, "give each task one CPU if there is no --cpus-per-task", OPTION_FLAG,
     AT_REQ(is_exact)},
    {"exclusive", 0, "[=WHO]", "the same as --exact", OPTION_CALL, .set = set_exclusive},
    {"whole", 0, NULL, "give the tasks all CPUs of the step's nodes", OPTION_FLAG,
     AT(takes_whole_nodes)},
    {"overlap", 0, NULL, "also use CPUs of other steps, and leave the CPUs free for others",
     OPTION_FLAG, AT_REQ(overlaps)},
    {"overcommit", 'O', NULL, "let any number of tasks share the CPUs", OPTION_FLAG,
     AT_REQ(overcommits)},
    {"nodes", 'N', "N[-M]", "use N nodes of the job", OPTION_CALL, .set = set_nodes},
    {"ntasks-per-node", 0, "N", "start at most N tasks on each node", OPTION_CALL,
     .set = set_tasks_per_node},
    {"nodelist", 'w', "LIST", "use these nodes of the job: n[1-3],n7", OPTION_TEXT, AT_REQ(nodes)},
    {"exclude", 'x', "LIST", "use none of these nodes", OPTION_TEXT, AT_REQ(excluded_nodes)},
    {"relative", 'r', "N", "begin at the node with the index N in the job, from 0", OPTION_INT,
     AT_REQ(first_node), .min = 0, .max = INT32_MAX},
    {"distribution", 'm', "HOW",
     "give tasks to nodes, and then CPUs of sockets to tasks: block, cyclic or plane=SIZE, and then "
     ":block, :cyclic or :fcyclic; ',Pack' or ',NoPack'",
     OPTION_CALL, .set = set_distribution},
    {"cpu-bind", 0, "HOW",
     "bind tasks to threads, cores, sockets, ldoms, rank, map_cpu:LIST, mask_cpu:LIST, or none",
     OPTION_CALL, .set = set_binding},
    {"mem", 0, "SIZE",
     "wait until the job has so much memory free of other steps that asked for it", OPTION_CALL,
     .set = set_memory},
    {"gpus-per-task", 0, "N", "give each task N of the job's GPUs", OPTION_CALL,
     .set = set_gpus_per_task},
    {"gpus-per-node", 0, "N", "give the tasks of each node N of the job's GPUs", OPTION_CALL,
     .set = set_gpus_per_node},
    {"gpus", 'G', "N", "give the tasks N of the job's GPUs; 0: none", OPTION_CALL, .set = set_gpus},
    {"gres", 0, "gpu:N", "the same as --gpus-per-node; none: no GPU", OPTION_CALL, .set = set_gres},
    {"immediate", 'I', "[=SECONDS]", "end if the CPUs are not free at once, or so soon",
     OPTION_CALL, .set = set_immediate},
    {"input", 'i', "FILE",
     "read the tasks' input from FILE (all: krun's input; none; N: only task N reads)", OPTION_CALL,
     AT(input), .set = set_file},
    {"output", 'o', "FILE",
     "write the output of the tasks to FILE (all: krun's; none; N: only of task N); %t, %n and "
     "%N mean a file for each task or node, and %j, %J, %s, %x, %u have their usual meaning",
     OPTION_CALL, AT(output), .set = set_file},
    {"error", 'e', "FILE", "write the errors of the tasks to FILE, instead of where --output says",
     OPTION_CALL, AT(error), .set = set_file},
    {"open-mode", 0, "append|truncate", "what happens to files that exist (truncate)", OPTION_CALL,
     .set = set_open_mode},
    {"label", 'l', NULL, "begin each line with the number of the task", OPTION_FLAG, AT(labels)},
    {"unbuffered", 'u', NULL, "write what a task writes at once, not only whole lines", OPTION_FLAG,
     AT(is_unbuffered)},
    {"pty", 0, NULL, "give task 0 a terminal, and the others nothing to read or write to",
     OPTION_FLAG, AT_REQ(has_terminal)},
    {"chdir", 'D', "DIRECTORY", "the working directory of the tasks", OPTION_TEXT, AT(directory)},
    {"export", 0, "ALL|NONE|LIST",
     "the variables of the tasks: all of krun's, only those of the job, or NAME[=VALUE],...",
     OPTION_TEXT, AT(exported)},
    {"propagate", 0, "[=LIST]", "the soft limits that tasks have from krun: ALL, NONE or names",
     OPTION_CALL, .set = set_propagate},
    {"multi-prog", 0, NULL, "the operand is a file that says which task runs which program",
     OPTION_FLAG, AT(has_several_programs)},
    {"kill-on-bad-exit", 'K', "[=0|1]", "end all tasks when one has failed", OPTION_CALL,
     .set = set_kill},
    {"wait", 'W', "SECONDS", "end the other tasks so long after the first has ended; 0: never",
     OPTION_INT, AT(wait_s), .min = 0, .max = INT32_MAX},
    {"time", 't', "TIME", "end the tasks after TIME, minutes or [days-]hours:minutes:seconds",
     OPTION_CALL, .set = set_time},
    {"signal", 0, "SIGNAL[@SECONDS]", "send the tasks a signal so long before --time ends them",
     OPTION_CALL, .set = set_signal},
    {"job-name", 'J', "NAME", "the name of the step", OPTION_TEXT, AT_REQ(name)},
    {"prolog", 0, "PROGRAM", "run PROGRAM here, before the tasks start", OPTION_TEXT, AT(prolog)},
    {"epilog", 0, "PROGRAM", "run PROGRAM here, after the tasks have ended", OPTION_TEXT,
     AT(epilog)},
    {"task-prolog", 0, "PROGRAM", "run PROGRAM in each task before its program", OPTION_TEXT,
     AT_REQ(task_prolog)},
    {"task-epilog", 0, "PROGRAM", "run PROGRAM in each task after its program", OPTION_TEXT,
     AT_REQ(task_epilog)},
    {"mpi", 0, "pmix|pmi1|none",
     "how tasks find each other: pmix for Open MPI, pmi1 for MPICH; list", OPTION_CALL,
     .set = krun_mpi_set},
    {"disable-status", 'X', NULL, "pass the first Ctrl-C on, too", OPTION_FLAG,
     AT(ends_at_first_interrupt)},
    {"quit-on-interrupt", 0, NULL, "end at the first Ctrl-C", OPTION_FLAG, AT(quits_at_interrupt)},
    {"quiet", 'Q', NULL, "print errors only", OPTION_FLAG, AT(is_quiet)},
    {"verbose", 'v', NULL, "say more; may be repeated", OPTION_CALL, .set = set_verbose},
    {"version", 'V', NULL, "show the version, and exit", OPTION_FLAG, AT(shows_version)},

    {"jobid", 0, "ID", "start the tasks in this running job, from wherever it is called",
     OPTION_TEXT, AT(job)},
    USUAL("profile", 0, "WHAT",
          "none: Kiln has no profiles of tasks; 'kctl usage' has what a job used"),
    {.name = "mem-bind", .argument = "HOW", .type = OPTION_CALL, .set = set_memory_binding},
    {.name = "cpu_bind", .argument = "HOW", .type = OPTION_CALL, .set = set_binding},
    USUAL("gpu-bind", 0, "HOW", "none,closest: give tasks their own GPUs with --gpus-per-task"),
    REFUSED("ntasks-per-gpu", 0, "N", "use --gpus-per-task"),
    REFUSED("gpus-per-socket", 0, "N", "use --gpus-per-task or --gpus-per-node"),
    REFUSED("cpus-per-gpu", 0, "N", "use --cpus-per-task"),
    REFUSED("mem-per-cpu", 0, "SIZE", "use --mem, the memory on each node"),
    REFUSED("mem-per-gpu", 0, "SIZE", "use --mem, the memory on each node"),
    REFUSED("bcast", 0, "[=FILE]", "copy the program with sbcast first"),
    REFUSED("container", 0, "PATH", "start the container's program as the command"),
    REFUSED("het-group", 0, "LIST", "a job has one kind of nodes"),
    REFUSED("clusters", 'M', "LIST", "a step runs in its own job"),
    REFUSED("x11", 0, "[=WHICH]", "windows cannot be shown from a job"),
    REFUSED("no-allocate", 'Z', NULL, "tasks run only on CPUs of a job"),
    REFUSED("uid", 0, "USER", "tasks run as the job's user"),
    REFUSED("gid", 0, "GROUP", "tasks run as the job's user"),
    REFUSED("preserve-env", 'E', NULL, "tasks always see the numbers of their own step"),
    REFUSED("test-only", 0, NULL, "'ksub --test-only' says when a job would start"),
    REFUSED("resv-ports", 0, "[=N]", "no ports are reserved for tasks"),
    REFUSED("nodefile", 'F', "FILE", "use --nodelist"),
    JOB("accel-bind", 0, "HOW"),
    JOB("account", 'A', "NAME"),
    JOB("acctg-freq", 0, "SPEC"),
    JOB("bb", 0, "SPEC"),
    JOB("bbf", 0, "FILE"),
    JOB("bcast-exclude", 0, "LIST"),
    JOB("begin", 'b', "TIME"),
    JOB("cluster-constraint", 0, "LIST"),
    JOB("comment", 0, "TEXT"),
    JOB("compress", 0, "[=TYPE]"),
    JOB("constraint", 'C', "LIST"),
    JOB("contiguous", 0, NULL),
    JOB("core-spec", 'S', "N"),
    JOB("cores-per-socket", 0, "N"),
    JOB("cpu-freq", 0, "RANGE"),
    JOB("deadline", 0, "TIME"),
    JOB("delay-boot", 0, "MINUTES"),
    JOB("dependency", 'd', "LIST"),
    JOB("extra-node-info", 'B', "SHAPE"),
    JOB("gpu-freq", 0, "RANGE"),
    JOB("gres-flags", 0, "FLAGS"),
    JOB("hint", 0, "TYPE"),
    JOB("hold", 'H', NULL),
    JOB("licenses", 'L', "LIST"),
    JOB("mail-type", 0, "TYPE"),
    JOB("mail-user", 0, "USER"),
    JOB("mcs-label", 0, "LABEL"),
    JOB("mincpus", 0, "N"),
    JOB("msg-timeout", 0, "SECONDS"),
    JOB("network", 0, "TYPE"),
    JOB("nice", 0, "[=N]"),
    JOB("no-kill", 'k', "[=off]"),
    JOB("ntasks-per-core", 0, "N"),
    JOB("ntasks-per-socket", 0, "N"),
    JOB("oversubscribe", 's', NULL),
    JOB("partition", 'p', "NAME"),
    JOB("power", 0, "FLAGS"),
    JOB("prefer", 0, "LIST"),
    JOB("priority", 0, "N"),
    JOB("qos", 'q', "NAME"),
    JOB("reboot", 0, NULL),
    JOB("reservation", 0, "NAME"),
    JOB("send-libs", 0, "[=yes|no]"),
    JOB("slurmd-debug", 0, "LEVEL"),
    JOB("sockets-per-node", 0, "N"),
    JOB("spread-job", 0, NULL),
    JOB("switches", 0, "N"),
    JOB("thread-spec", 0, "N"),
    JOB("threads", 'T', "N"),
    JOB("threads-per-core", 0, "N"),
    JOB("time-min", 0, "TIME"),
    JOB("tmp", 0, "SIZE"),
    JOB("use-min-nodes", 0, NULL),
    JOB("wckey", 0, "KEY"),
};

const struct option_table krun_options = {
    .name = "krun",
    .usage = "[OPTION]... COMMAND [ARGUMENT]...\n--multi-prog [OPTION]... FILE [ARGUMENT]...",
    .summary = "Run tasks on the CPUs of the job in which it is called: a step. Its exit status is "
               "the highest of the tasks' (128 and the signal's number for a task that a signal "
               "ended). Started as srun, it is the same program.",
    OPTION_ROWS(rows),
    .more = "krun reads its options from variables, too, as srun does: SLURM_NTASKS for\n"
            "--ntasks, SRUN_CPUS_PER_TASK for --cpus-per-task, and others that krun(1) lists.",
    .stops_at_operand = true,
};

bool
krun_options_has_for_steps(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].set != set_note && rows[i].set != refuse;
    return false;
}

int
krun_options_read(struct krun_settings *s, int argc, char **argv, int *ret_operands,
                  struct error *err)
{
    int r = read_variables(s, err);

    return r < 0 ? r : option_parse(&krun_options, argc, argv, s, ret_operands, err);
}
