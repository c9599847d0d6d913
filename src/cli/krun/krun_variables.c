/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_variables.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/krun/krun_options.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/option.h"

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

int
krun_variables_read(struct krun_settings *s, struct error *err)
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
