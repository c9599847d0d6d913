/* SPDX-License-Identifier: Apache-2.0 */
/* kctl attach - follows the output of a running job
 *
 * The program of a job writes into a file and reads another one, so there is nothing else to attach
 * to; a step is attached to its krun.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/sibling.h"

struct attach_options {
    struct common_options common;
    bool has_input, has_terminal;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "stdin",
     .letter = 'i',
     .help = "refused: a job reads its input from a file",
     .type = OPTION_FLAG,
     .offset = offsetof(struct attach_options, has_input)},
    {.name = "tty",
     .letter = 't',
     .help = "refused: 'kctl exec -ti' starts a program with a terminal in the job",
     .type = OPTION_FLAG,
     .offset = offsetof(struct attach_options, has_terminal)},
};

static const struct option_table table = {
    .name = "kctl attach",
    .usage = "[OPTION]... JOB\n[OPTION]... JOB_TASK",
    .summary = "Show what a running job writes, until it ends; the same as 'kctl logs --follow'.",
    OPTION_ROWS(rows),
    .more = "Example: kctl attach 1042",
};

static int
attach_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct attach_options *o = options;
    const struct {
        const char *name, *value;
    } common[] = {
        {"--server", kctl->server}, {"--namespace", kctl->namespace}, {"--as", kctl->as_user}};
    const char **words = arena_new_array(arena, const char *, 16 + (size_t)n_operands);
    size_t n = 0;
    int r;

    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job? For example: kctl attach 1042");
    if (o->has_input || o->has_terminal)
        return error_set(err, -EINVAL,
                         "the program of a job reads its input from a file, and has no terminal; "
                         "'kctl exec -ti JOB -- bash' starts a shell in the job");
    words[n++] = "kctl";
    words[n++] = "logs";
    words[n++] = "--follow";
    for (size_t i = 0; i < ARRAY_SIZE(common); i++)
        if (common[i].value != NULL) {
            words[n++] = common[i].name;
            words[n++] = common[i].value;
        }
    if (kctl->no_wait)
        words[n++] = "--no-wait";
    words[n++] = "--";
    for (int i = 0; i < n_operands; i++)
        words[n++] = operands[i];
    words[n] = NULL;
    fflush(NULL);
    r = sibling_become("kctl", words);
    return error_set(err, r, "kctl cannot be run again: %s", strerror(-r));
}

const struct command attach_command = {
    .name = "attach",
    .options = &table,
    .options_size = sizeof(struct attach_options),
    .run = attach_run,
};
