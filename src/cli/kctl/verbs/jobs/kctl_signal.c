/* SPDX-License-Identifier: Apache-2.0 */
/* kctl signal - sends a signal to the processes of running jobs */
#include <errno.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/verbs/jobs/job_request.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct signal_options {
    struct common_options common;
    struct job_choice choice;
    const char *signal;
    bool script, full, yes;
};

#define PLACE(member) .offset = offsetof(struct signal_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    JOB_CHOICE_OPTIONS(struct signal_options, choice),
    {.name = "signal",
     .letter = 'S',
     .argument = "SIGNAL",
     .help = "its name or number, such as USR1, SIGUSR1 or 10; otherwise TERM",
     .type = OPTION_TEXT,
     PLACE(signal)},
    {.name = "script",
     .help = "to the script's shell (the job's first process), and to no other",
     .type = OPTION_FLAG,
     PLACE(script)},
    {.name = "full",
     .help = "to the script's shell and all that it has started",
     .type = OPTION_FLAG,
     PLACE(full)},
    {.name = "yes",
     .letter = 'y',
     .help = "do not ask for confirmation, however many jobs it affects",
     .type = OPTION_FLAG,
     PLACE(yes)},
};

static const struct option_table table = {
    .name = "kctl signal",
    .usage = "[OPTION]... JOB...\n"
             "[OPTION]... (--user NAME | --state STATE | ...)",
    .summary = "Send a signal to what running jobs have started, without ending the jobs; or to "
               "the tasks of a step (1042.3), on all of its nodes.",
    OPTION_ROWS(rows),
    .more = "Without --script and --full, the script's shell does not get the signal, as with\n"
            "'ksub --signal'. A job that is not a shell script gets it there if it handles it.\n"
            "\n"
            "Examples:\n"
            "  kctl signal --signal USR1 1042\n"
            "  kctl signal --signal USR1 --script 1042 # its trap runs\n"
            "  kctl signal --signal INT --full 1042_4\n"
            "  kctl signal --signal USR1 1042.3 # a step, which krun started in the job",
};

/* A step has no script. */
static int
check_no_steps(int n_operands, char *const *operands, struct error *err)
{
    for (int i = 0; i < n_operands; i++)
        if (job_operands_is_step(operands[i]))
            return error_set(err, -EINVAL,
                             "%s is a step, whose tasks get the signal; --script and --full are "
                             "for jobs",
                             operands[i]);
    return 0;
}

/* Names of objects are lower case, so a signal in capitals where a job is expected is a forgotten
 * --signal; the other operands would get TERM.
 */
static int
check_no_signals(int n_operands, char *const *operands, struct error *err)
{
    for (int i = 0; i < n_operands; i++)
        if (operands[i][0] >= 'A' && operands[i][0] <= 'Z' && pod_signal_number(operands[i]) > 0)
            return error_set(err, -EINVAL, "%s is a signal, not a job; give --signal %s",
                             operands[i], operands[i]);
    return 0;
}

static int
run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct signal_options *o = options;
    const char *given = o->signal != NULL ? o->signal : "TERM";
    const struct job_request request = {.action = "signal", .does = "Signal", .asks = !o->yes};
    struct job_choice choice = o->choice;
    struct json *body = json_object(arena), *signal = json_make_object(arena, body, "signal");
    const int number = pod_signal_number(given);
    int r;

    if (number == 0)
        return error_set(err, -EINVAL,
                         "--signal: '%s' is not a signal; give its name or its number, such as "
                         "USR1 or 10 (real-time signals cannot be sent)",
                         given);
    if (o->script && o->full)
        return error_set(err, -EINVAL, "give either --script or --full, not both");
    r = check_no_signals(n_operands, operands, err);
    if (r < 0)
        return r;
    json_set_string(arena, signal, "name", pod_signal_name(number));
    json_set_string(arena, signal, "to",
                    pod_signal_target_word(o->script ? POD_SIGNAL_SCRIPT
                                           : o->full ? POD_SIGNAL_ALL
                                                     : POD_SIGNAL_CHILDREN));
    choice.n_operands = n_operands;
    choice.operands = operands;
    if (n_operands > 0) {
        r = o->script || o->full ? check_no_steps(n_operands, operands, err)
                                 : job_request_take_steps(kctl, &choice, number, arena, err);
        if (r < 0 || choice.n_operands == 0)
            return r;
    }
    r = job_request_choose(kctl, &choice, body, arena, err);
    return r < 0 ? r : job_request_send(kctl, &request, &choice, body, arena, err);
}

const struct command signal_command = {
    .name = "signal",
    .options = &table,
    .options_size = sizeof(struct signal_options),
    .run = run,
};
