/* SPDX-License-Identifier: Apache-2.0 */
/* kctl script - prints the script of a job as it was submitted */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_content.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/client/sync_call.h"

struct script_options {
    struct common_options common;
    bool environment;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "environment",
     .letter = 'e',
     .help = "the environment that it was submitted with, NAME=value lines, instead",
     .type = OPTION_FLAG,
     .offset = offsetof(struct script_options, environment)},
};

static const struct option_table table = {
    .name = "kctl script",
    .usage = "[OPTION]... JOB\n[OPTION]... JOB_TASK",
    .summary = "Print the script of a job, as it was when the job was submitted.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl script 1042 | diff - train.sh\n"
            "  kctl script --environment 1042",
};

static int
script_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_SYNC_CALL struct sync_call content = {0};
    const struct script_options *o = options;
    struct target_object job;
    struct json *tree = NULL, *tasks = NULL;
    char *const *named = operands;
    char *whole;
    int r;

    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job?");
    /* All tasks have the script of their array. */
    if (n_operands == 1 && job_elements_looks_like(operands[0])) {
        r = job_tasks_fetch(kctl, operands[0], arena, &tasks, err);
        if (r < 0)
            return r;
        operands = &whole;
        whole = arena_strndup(arena, named[0], strcspn(named[0], "_"));
    }
    r = resource_parse_one(kctl, &job_kind, n_operands, operands, arena, &job, err);
    if (r == 0 && job.kind != &job_kind)
        r = error_set(err, -EINVAL, "%s has no script; only jobs have", kctl_label(&job, arena));
    if (r == 0)
        r = kctl_get(kctl, &job, arena, &tree, err);
    if (r == 0)
        r = job_content_fetch(kctl, &job, o->environment ? "environment" : "script", &content, err);
    if (r < 0)
        return r;
    /* Entries of an environment end with a NUL. */
    for (size_t i = 0; o->environment && i < content.length; i++)
        if (content.text[i] == '\0')
            content.text[i] = '\n';
    r = fd_write_all(STDOUT_FILENO, content.text, content.length);
    return r < 0 ? error_set(err, r, "writing to standard output: %s", strerror(-r)) : 0;
}

const struct command script_command = {
    .name = "script",
    .options = &table,
    .options_size = sizeof(struct script_options),
    .run = script_run,
};
