/* SPDX-License-Identifier: Apache-2.0 */
/* kctl exec - runs a program in a running job
 *
 * The program is a step that overlaps others (krun --overlap): the controller has no part in
 * it, except that it may have to allow it (krun_grants.h), and its input and output go between this
 * machine and the job's node.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_steps.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/job_elements.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/exit_status.h"
#include "lib/program/sibling.h"

struct exec_options {
    struct common_options common;
    const char *node;
    bool has_input, has_terminal, is_here;
};

#define PLACE(member) .offset = offsetof(struct exec_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "here",
     .help = "run COMMAND on this machine, with the job's variables: krun in it starts tasks "
             "in the job",
     .type = OPTION_FLAG,
     PLACE(is_here)},
    {.name = "node",
     .letter = 'w',
     .argument = "NODE",
     .help = "on this node of the job, instead of its first",
     .type = OPTION_TEXT,
     PLACE(node)},
    {.name = "stdin",
     .letter = 'i',
     .help = "pass the standard input on to COMMAND",
     .type = OPTION_FLAG,
     PLACE(has_input)},
    {.name = "tty",
     .letter = 't',
     .help = "give COMMAND a terminal",
     .type = OPTION_FLAG,
     PLACE(has_terminal)},
};

static const struct option_table table = {
    .name = "kctl exec",
    .usage = "[OPTION]... JOB [--] COMMAND [ARGUMENT]...\n"
             "[OPTION]... JOB_TASK [--] COMMAND [ARGUMENT]...",
    .summary =
        "Run a program in a running job of yours, beside what runs there; administrators, in "
        "that of any user, as that user. The exit status is the program's.",
    OPTION_ROWS(rows),
    .more =
        "The program begins in the job's directory, with the environment of this shell and\n"
        "the variables of the job. Where MUNGE does not answer on this machine, the controller\n"
        "has to answer. In another user's job, it has none of this shell's environment but PATH\n"
        "and TERM.\n"
        "\n"
        "Examples:\n"
        "  kctl exec 1042 -- top -b -n 1\n"
        "  kctl exec -i 1042 -- tar xf - <data.tar\n"
        "  kctl exec -w n7 1042 nvidia-smi\n"
        "  kctl exec --here 1042 -- krun -N 2 hostname",
    .stops_at_operand = true,
};

static const char *const *
krun_words(const struct exec_options *o, const struct job_entry *entry, int n, char **command,
           struct arena *arena)
{
    static const char *const always[] = {
        "krun",       "--overlap",       "--overcommit",    "--nodes=1",
        "--ntasks=1", "--cpu-bind=none", "--disable-status"};
    const char **words = arena_new_array(arena, const char *, 16 + (size_t)n);
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        words[at++] = always[i];
    if (o->node != NULL)
        words[at++] = arena_printf(arena, "--nodelist=%s", o->node);
    if (entry->exported != NULL) {
        words[at++] = arena_printf(arena, "--export=%s", entry->exported);
        words[at++] = "--propagate=NONE";
    } else {
        words[at++] = "--export=ALL";
    }
    if (entry->directory != NULL)
        words[at++] = arena_printf(arena, "--chdir=%s", entry->directory);
    if (o->has_terminal)
        words[at++] = "--pty";
    else if (!o->has_input)
        words[at++] = "--input=none";
    words[at++] = "--";
    for (int i = 0; i < n; i++)
        words[at++] = command[i];
    words[at] = NULL;
    return words;
}

/* `krun --jobid` runs this command to find its job (cli/krun): its user asked krun, or srun. */
static void
speak_for_krun(struct kctl *kctl, const struct exec_options *o)
{
    const char *caller = getenv("KRUN_NAME");

    if (o->is_here && caller != NULL)
        kctl->program = strcmp(caller, "srun") == 0 ? "srun" : "krun";
}

/* Slurm's words begin the message of srun; then comes what is wrong. */
static int
refuse_krun(struct kctl *kctl, const char *job, int r, struct arena *arena, struct error *err)
{
    const char *why = arena_strdup(arena, err->text);

    kctl->exit_code = EXIT_STATUS_FAILED;
    if (strcmp(kctl->program, "srun") != 0)
        return error_set(err, r, "error: %s", why);
    return error_set(err, r, "error: Unable to confirm allocation for job %s: %s%s%s", job,
                     r == -ENOENT ? "Invalid job id specified" : why, r == -ENOENT ? "; " : "",
                     r == -ENOENT ? why : "");
}

static int
exec_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct exec_options *o = options;
    struct job_entry entry = {0};
    struct target_object job;
    int r, at = 1;

    speak_for_krun(kctl, o);

    if (n_operands > 1 && strcmp(operands[1], "--") == 0)
        at = 2;
    if (n_operands <= at)
        return error_set(err, -EINVAL, "which %scommand? For example: kctl exec -ti %s -- bash",
                         n_operands == 0 ? "job, and which " : "",
                         n_operands == 0 ? "1042" : operands[0]);
    if (o->is_here && (o->has_input || o->has_terminal || o->node != NULL))
        return error_set(err, -EINVAL,
                         "--here starts nothing on a node, so -i, -t and -w have no "
                         "meaning with it");
    kctl->takes_tasks = job_elements_looks_like(operands[0]);
    r = resource_parse_one(kctl, &job_kind, 1, operands, arena, &job, err);
    if (r == 0 && job.kind != &job_kind && job.kind != &pod_kind)
        r = error_set(err, -EINVAL, "%s runs no programs; only jobs do", kctl_label(&job, arena));
    if (r == 0)
        r = job_steps_enter(kctl, &job, !o->is_here, arena, &entry, err);
    if (r < 0)
        return kctl->program == NULL ? r : refuse_krun(kctl, operands[0], r, arena, err);
    fflush(NULL);
    if (o->is_here) {
        execvp(operands[at], operands + at);
        r = -errno;
    } else {
        r = sibling_become("krun", krun_words(o, &entry, n_operands - at, operands + at, arena));
    }
    kctl->exit_code = r == -ENOENT ? 127 : 126;
    return error_set(err, r, "%s: %s", o->is_here ? operands[at] : "krun", strerror(-r));
}

const struct command exec_command = {
    .name = "exec",
    .options = &table,
    .options_size = sizeof(struct exec_options),
    .run = exec_run,
};
