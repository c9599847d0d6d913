/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/sbatch_variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"

/* The names of sbatch(1). */
static const struct {
    const char *name, *option;
    bool is_flag;
} variables[] = {
    {"SBATCH_ACCOUNT", "account", false},
    {"SBATCH_ACCTG_FREQ", "acctg-freq", false},
    {"SBATCH_ARRAY_INX", "array", false},
    {"SBATCH_BATCH", "batch", false},
    {"SLURM_CLUSTERS", "clusters", false},
    {"SBATCH_CLUSTERS", "clusters", false},
    {"SBATCH_CONSTRAINT", "constraint", false},
    {"SBATCH_CONTAINER", "container", false},
    {"SBATCH_CORE_SPEC", "core-spec", false},
    {"SBATCH_CPUS_PER_GPU", "cpus-per-gpu", false},
    {"SBATCH_DEBUG", "verbose", true},
    {"SBATCH_DELAY_BOOT", "delay-boot", false},
    {"SBATCH_DISTRIBUTION", "distribution", false},
    {"SBATCH_ERROR", "error", false},
    {"SBATCH_EXPORT", "export", false},
    {"SBATCH_GET_USER_ENV", "get-user-env", true},
    {"SBATCH_GPU_BIND", "gpu-bind", false},
    {"SBATCH_GPU_FREQ", "gpu-freq", false},
    {"SBATCH_GPUS", "gpus", false},
    {"SBATCH_GPUS_PER_NODE", "gpus-per-node", false},
    {"SBATCH_GPUS_PER_TASK", "gpus-per-task", false},
    {"SBATCH_GRES", "gres", false},
    {"SBATCH_GRES_FLAGS", "gres-flags", false},
    {"SLURM_HINT", "hint", false},
    {"SBATCH_HINT", "hint", false},
    {"SBATCH_IGNORE_PBS", "ignore-pbs", true},
    {"SBATCH_INPUT", "input", false},
    {"SBATCH_JOB_NAME", "job-name", false},
    {"SBATCH_MEM_BIND", "mem-bind", false},
    {"SBATCH_MEM_PER_CPU", "mem-per-cpu", false},
    {"SBATCH_MEM_PER_GPU", "mem-per-gpu", false},
    {"SBATCH_MEM_PER_NODE", "mem", false},
    {"SBATCH_NETWORK", "network", false},
    {"SBATCH_NO_KILL", "no-kill", true},
    {"SBATCH_NO_REQUEUE", "no-requeue", true},
    {"SBATCH_OPEN_MODE", "open-mode", false},
    {"SBATCH_OUTPUT", "output", false},
    {"SBATCH_OVERCOMMIT", "overcommit", true},
    {"SBATCH_PARTITION", "partition", false},
    {"SBATCH_POWER", "power", false},
    {"SBATCH_PROFILE", "profile", false},
    {"SBATCH_QOS", "qos", false},
    {"SBATCH_REQUEUE", "requeue", true},
    {"SBATCH_RESERVATION", "reservation", false},
    {"SBATCH_SIGNAL", "signal", false},
    {"SBATCH_SPREAD_JOB", "spread-job", true},
    {"SBATCH_THREAD_SPEC", "thread-spec", false},
    {"SBATCH_THREADS_PER_CORE", "threads-per-core", false},
    {"SBATCH_TIMELIMIT", "time", false},
    {"SBATCH_TRES_BIND", "tres-bind", false},
    {"SBATCH_USE_MIN_NODES", "use-min-nodes", true},
    {"SBATCH_WAIT", "wait", true},
    {"SBATCH_WAIT_ALL_NODES", "wait-all-nodes", false},
    {"SBATCH_WCKEY", "wckey", false},
};

/* Slurm: a flag is given by nothing, "yes" or a number other than 0; an empty list of tasks, features
 * or nodes is none.
 */
static bool
is_given(const char *option, bool is_flag, const char *value)
{
    if (is_flag)
        return value[0] == '\0' || strcasecmp(value, "yes") == 0 || atoi(value) != 0;
    return value[0] != '\0' || strcmp(option, "array") != 0;
}

/* The time to wait for few switches is in a variable of its own. */
static char *
read_switches(struct arena *arena, const char *value)
{
    const char *wait = getenv("SBATCH_WAIT4SWITCH");

    if (wait == NULL || wait[0] == '\0' || strchr(value, '@') != NULL)
        return arena_printf(arena, "--switches=%s", value);
    return arena_printf(arena, "--switches=%s@%s", value, wait);
}

/* "exclusive", or nothing: the option without a value; "user", "mcs": its value. */
static char *
read_exclusive(struct arena *arena, const char *value)
{
    if (value[0] == '\0' || strcmp(value, "exclusive") == 0)
        return arena_strdup(arena, "--exclusive");
    return arena_printf(arena, "--exclusive=%s", value);
}

char **
sbatch_variables_read(struct arena *arena, size_t *ret_count)
{
    char **words = arena_new_array(arena, char *, ARRAY_SIZE(variables) + 3);
    const char *value;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        value = getenv(variables[i].name);
        if (value == NULL || !is_given(variables[i].option, variables[i].is_flag, value))
            continue;
        words[n++] = variables[i].is_flag
                         ? arena_printf(arena, "--%s", variables[i].option)
                         : arena_printf(arena, "--%s=%s", variables[i].option, value);
    }
    value = getenv("SBATCH_REQ_SWITCH");
    if (value != NULL)
        words[n++] = read_switches(arena, value);
    value = getenv("SBATCH_EXCLUSIVE");
    if (value != NULL)
        words[n++] = read_exclusive(arena, value);
    *ret_count = n;
    return words;
}
