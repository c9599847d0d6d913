/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/submission.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/arena.h"

static int64_t
at_least_one(int64_t value)
{
    return value > 0 ? value : 1;
}

int64_t
submission_cpus(const struct submission *s)
{
    const int64_t tasks = s->slurm.overcommits ? 1 : at_least_one(s->tasks);
    const int64_t cpus = tasks * at_least_one(s->cpus_per_task);

    return cpus > s->slurm.min_cpus ? cpus : s->slurm.min_cpus;
}

int64_t
submission_memory(const struct submission *s)
{
    if (s->memory_per_cpu_bytes > 0)
        return s->memory_per_cpu_bytes * submission_cpus(s);
    return s->memory_bytes;
}

const char *
submission_name(const struct submission *s)
{
    const char *slash;

    if (s->job_name != NULL)
        return s->job_name;
    if (s->wrapped != NULL)
        return "wrap";
    if (s->script_path == NULL)
        return "ksub";
    slash = strrchr(s->script_path, '/');
    return slash != NULL ? slash + 1 : s->script_path;
}

const char *
submission_script(const struct submission *s)
{
    if (s->wrapped != NULL)
        return "--wrap";
    return s->script_path != NULL ? s->script_path : "standard input";
}

const char *
submission_find_script(const char *name, struct arena *arena)
{
    const char *folder = getenv("PATH");

    if (strchr(name, '/') != NULL || access(name, R_OK) == 0)
        return name;
    while (folder != NULL && *folder != '\0') {
        const size_t length = strcspn(folder, ":");
        const char *path = arena_printf(arena, "%.*s/%s", (int)length, folder, name);

        if (length > 0 && access(path, R_OK) == 0)
            return path;
        folder += length + (folder[length] == ':');
    }
    return name;
}
