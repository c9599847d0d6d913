/* SPDX-License-Identifier: Apache-2.0 */
/* kctl hold, release, requeue, suspend, resume, cancel - change the state of
 * jobs
 */
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/scheduling_switch.h"
#include "cli/kctl/verbs/jobs/cron_jobs.h"
#include "cli/kctl/verbs/jobs/job_request.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

struct hold_options {
    struct common_options common;
    struct job_choice choice;
    bool yes;
    bool hold; /* only for requeue */
};

#define PLACE(member) .offset = offsetof(struct hold_options, member)

/* clang-format off */
#define OPTIONS_OF_JOBS \
    COMMON_OPTIONS, \
    JOB_CHOICE_OPTIONS(struct hold_options, choice), \
    {.name = "yes", \
    .letter = 'y', \
    .help = "do not ask for confirmation, however many jobs it affects", \
    .type = OPTION_FLAG, \
    PLACE(yes)}
/* clang-format on */

static const struct option_spec hold_rows[] = {OPTIONS_OF_JOBS};
#define release_rows hold_rows
#define suspend_rows hold_rows
#define resume_rows  hold_rows
#define cancel_rows  hold_rows
static const struct option_spec requeue_rows[] = {
    OPTIONS_OF_JOBS,
    {.name = "hold",
     .help = "and hold them, so that they start when they are released",
     .type = OPTION_FLAG,
     PLACE(hold)},
};

static const char *const verbs_of_cron_jobs[] = {
    [CRON_JOBS_HOLD] = "hold",
    [CRON_JOBS_RELEASE] = "release",
    [CRON_JOBS_CANCEL] = "cancel",
};

/* Changes the CronJobs among the operands. The operands that remain are Jobs:
 * the others that were given, and those that cancelled CronJobs have left.
 */
static int
change_cron_jobs(struct kctl *kctl, enum cron_jobs_verb verb, struct job_choice *choice,
                 struct arena *arena, struct error *err)
{
    const char **names = NULL;
    char **jobs = NULL, **all;
    size_t count, n_jobs = 0;
    int r = cron_jobs_take(kctl, &choice->n_operands, choice->operands, arena, &names, &count, err);

    if (r < 0 || count == 0)
        return r;
    r = cron_jobs_change(kctl, names, count, verb, arena, &jobs, &n_jobs, err);
    if (n_jobs == 0)
        return r;
    all = arena_new_array(arena, char *, (size_t)choice->n_operands + n_jobs + 1);
    if (choice->n_operands > 0)
        memcpy(all, choice->operands, (size_t)choice->n_operands * sizeof(*all));
    for (size_t i = 0; i < n_jobs; i++)
        all[(size_t)choice->n_operands + i] = arena_printf(arena, "job/%s", jobs[i]);
    choice->operands = all;
    choice->n_operands += (int)n_jobs;
    return r;
}

static int
change_all(struct kctl *kctl, const struct hold_options *o, int n_operands, char **operands,
           const struct job_request *verb, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct job_request request = *verb;
    struct job_choice choice = o->choice;
    int r = 0;

    /* A Job of that name is job/scheduling. */
    if (strcmp(verb->action, "resume") == 0 && n_operands == 1
        && strcmp(operands[0], "scheduling") == 0)
        return scheduling_switch(kctl, false, err);
    choice.operands = operands;
    choice.n_operands = n_operands;
    if (strcmp(verb->action, "cancel") == 0 && n_operands > 0) {
        r = job_request_take_steps(kctl, &choice, 0, arena, err);
        if (r < 0 || choice.n_operands == 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_SIZE(verbs_of_cron_jobs); i++)
        if (strcmp(verb->action, verbs_of_cron_jobs[i]) == 0 && n_operands > 0) {
            r = change_cron_jobs(kctl, (enum cron_jobs_verb)i, &choice, arena, err);
            if (r < 0 || choice.n_operands == 0)
                return r;
        }
    r = job_request_choose(kctl, &choice, body, arena, err);
    if (r < 0)
        return r;
    if (o->hold)
        request.action = "requeueAndHold";
    request.asks = request.asks && !o->yes;
    return job_request_send(kctl, &request, &choice, body, arena, err);
}

/* These verbs have the same form. */
#define JOB_VERB(verb, does_, asks_, words, examples)                                              \
    static const struct option_table verb##_table = {                                              \
        .name = "kctl " #verb,                                                                     \
        .usage = "[OPTION]... JOB...\n"                                                            \
                 "[OPTION]... (--user NAME | --state STATE | ...)",                                \
        .summary = words,                                                                          \
        OPTION_ROWS(verb##_rows),                                                                  \
        .more = examples,                                                                          \
    };                                                                                             \
    static int verb##_run(struct kctl *kctl, const void *options, int n_operands, char **operands, \
                          struct error *err)                                                       \
    {                                                                                              \
        static const struct job_request this = {                                                   \
            .action = #verb,                                                                       \
            .does = does_,                                                                         \
            .asks = asks_,                                                                         \
        };                                                                                         \
        return change_all(kctl, options, n_operands, operands, &this, err);                        \
    }                                                                                              \
    const struct command verb##_command = {                                                        \
        .name = #verb,                                                                             \
        .options = &verb##_table,                                                                  \
        .options_size = sizeof(struct hold_options),                                               \
        .run = verb##_run,                                                                         \
    }

JOB_VERB(hold, "Hold", false,
         "Keep jobs from starting; running ones go on. A held CronJob creates "
         "no Jobs.",
         "Examples:\n"
         "  kctl hold 1042\n"
         "  kctl hold nightly # a CronJob, or cronjob/nightly\n"
         "  kctl hold --state Pending --partition gpu");
JOB_VERB(release, "Release", false, "Let held jobs start, and held CronJobs create Jobs again.",
         "Examples:\n"
         "  kctl release 1042\n"
         "  kctl release nightly\n"
         "  kctl release --state Held");
JOB_VERB(requeue, "Requeue", true, "Stop jobs and start them again, from the beginning.",
         "Examples:\n"
         "  kctl requeue 1042\n"
         "  kctl requeue --hold 1042 # stops it until it is released");
JOB_VERB(suspend, "Suspend", true, "Suspend running jobs; they keep their memory and cores.",
         "For operators and administrators. Time that a job is suspended "
         "does not count\n"
         "against its limit; for jobs that wait, use 'kctl hold'.\n"
         "\n"
         "Examples:\n"
         "  kctl suspend 1042\n"
         "  kctl suspend --partition long --state Running");
JOB_VERB(resume, "Resume", false,
         "Resume suspended jobs, or scheduling, which 'kctl pause scheduling' has paused.",
         "Examples:\n"
         "  kctl resume 1042\n"
         "  kctl resume --state Frozen\n"
         "  kctl resume scheduling");
JOB_VERB(cancel, "Cancel", true,
         "End jobs permanently; their records are kept. A CronJob that is "
         "cancelled is deleted; its Jobs that have not ended are cancelled. A step (1042.3) is "
         "ended alone, on all of its nodes.",
         "Examples:\n"
         "  kctl cancel 1042 1043\n"
         "  kctl cancel 10-20\n"
         "  kctl cancel 1042.3 # a step, which krun started in the job\n"
         "  kctl cancel nightly # a CronJob, or cronjob/nightly\n"
         "  kctl cancel --name 'sweep*' --state Pending\n"
         "  kctl cancel --all --yes");
