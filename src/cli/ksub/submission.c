/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/submission.h"

#include <string.h>

static int64_t
at_least_one(int64_t value)
{
    return value > 0 ? value : 1;
}

int64_t
submission_cpus(const struct submission *s)
{
    return at_least_one(s->tasks) * at_least_one(s->cpus_per_task);
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
