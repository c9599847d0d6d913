/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_control/cancel_options.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/getent.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "lib/api/job/job_state.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"

#define PLACE(member)      .offset = offsetof(struct scancel_options, member)
#define FLAG(member)       .type = OPTION_FLAG, PLACE(member)
#define TEXT(what, member) .argument = (what), .type = OPTION_TEXT, PLACE(member)

static const struct option_spec rows[] = {
    {.name = "account",
     .letter = 'A',
     .help = "act only on jobs charging this account",
     TEXT("ACCOUNT", selection.account)},
    {.name = "batch",
     .letter = 'b',
     .help = "with --signal: to the batch shell, and to nothing that it has started",
     FLAG(batch)},
    {.name = "clusters",
     .letter = 'M',
     .help = "this cluster, by its name",
     TEXT("CLUSTER", clusters)},
    {.name = "ctld", .help = "no effect: the controller is asked anyway", FLAG(ctld)},
    {.name = "full",
     .letter = 'f',
     .help = "with --signal: to the batch shell and all that it has started",
     FLAG(full)},
    {.name = "hurry", .letter = 'H', .help = "no effect: nothing is staged out", FLAG(hurry)},
    {.name = "interactive",
     .letter = 'i',
     .help = "require a response for each job",
     FLAG(interactive)},
    {.name = "jobname", .help = "act only on jobs with this name", TEXT("NAME", selection.name)},
    {.name = "me", .help = "act only on your jobs", FLAG(me)},
    {.name = "name",
     .letter = 'n',
     .help = "act only on jobs with this name",
     TEXT("NAME", selection.name)},
    {.name = "nodelist",
     .letter = 'w',
     .help = "act only on jobs on these nodes",
     TEXT("NODES", nodes)},
    {.name = "partition",
     .letter = 'p',
     .help = "act only on jobs in this partition",
     TEXT("PARTITION", selection.partition)},
    {.name = "qos",
     .letter = 'q',
     .help = "act only on jobs with this quality of service (priority class)",
     TEXT("QOS", qos)},
    {.name = "quiet", .letter = 'Q', .help = "print no warnings", FLAG(quiet)},
    {.name = "reservation",
     .letter = 'R',
     .help = "act only on jobs with this reservation",
     TEXT("RESERVATION", reservation)},
    {.name = "sibling", .help = "refused: there is no federation", TEXT("CLUSTER", sibling)},
    {.name = "signal",
     .letter = 's',
     .help = "send this signal to what running jobs have started; KILL (the default) ends jobs",
     TEXT("SIGNAL", signal)},
    {.name = "state",
     .letter = 't',
     .help = "act only on jobs in this state: PENDING, RUNNING or SUSPENDED",
     TEXT("STATE", selection.state)},
    {.name = "user",
     .letter = 'u',
     .help = "act only on jobs of this user",
     TEXT("USER", selection.user)},
    {.name = "verbose", .letter = 'v', .help = "tell what is done", FLAG(verbose)},
    {.name = "wckey",
     .help = "act only on jobs with this key; jobs have none here",
     TEXT("KEY", wckey)},
    SLURM_COMMON_OPTIONS,
};

static const struct option_table table = {
    .name = "scancel",
    .usage = "[OPTION]... [JOB[_TASK][.STEP]]...",
    .summary =
        "End jobs that wait or run: those that are named (17, 17_4, 17_[1-3]), or those that "
        "all of the options select; or steps that run (17.0).",
    OPTION_ROWS(rows),
};

/* ---- Checks of the options ---- */

/* KILL to all ends the job, as without --signal. */
static int
check_signal(struct scancel_options *o)
{
    const int number = pod_signal_number(o->signal);

    if (number == 0) {
        fprintf(stderr, "Unknown job signal: %s\n", o->signal);
        return 1;
    }
    if (number != SIGKILL || o->batch)
        o->number = number;
    return 0;
}

/* Slurm's word as its code, because PENDING means held jobs, too. NULL: it is no state. */
static const char *
code_of_state(const char *word)
{
    static const struct {
        const char *word, *code;
    } words[] = {
        {"PENDING", "PD"},    {"RUNNING", "R"},      {"SUSPENDED", "S"},
        {"COMPLETING", "CG"}, {"CONFIGURING", "CF"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(words[i].word, word) == 0)
            return words[i].code;
    return job_states_of_word(word) != 0 ? word : NULL;
}

static int
check_state(struct scancel_options *o, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf codes = STRBUF_INIT;
    char *rest = arena_strdup(arena, o->selection.state);
    char *word;

    while ((word = strsep(&rest, ",")) != NULL) {
        const char *code = code_of_state(word);

        if (code == NULL) {
            fprintf(stderr,
                    "Invalid job state specified: %s\n"
                    "Valid job states are PENDING, RUNNING, and SUSPENDED\n",
                    word);
            return 1;
        }
        strbuf_printf(&codes, "%s%s", codes.length > 0 ? "," : "", code);
    }
    o->states_given = o->selection.state;
    o->selection.state = arena_strdup(arena, codes.text);
    return 0;
}

static int
check_user(const struct slurm_client *client, const char *user)
{
    uid_t uid;

    if (getent_find_user(&getent_system_files, user, &uid) == 0)
        return 0;
    slurm_client_error(client, "Invalid user name: %s", user);
    return 1;
}

static int
check_options(struct slurm_client *client, struct scancel_options *o)
{
    if (!slurm_cluster_is_this(client, o->clusters))
        return 1;
    if (o->sibling != NULL) {
        slurm_client_error(client, "--sibling: there is no federation of clusters");
        return 1;
    }
    if (o->selection.state != NULL && check_state(o, client->arena) != 0)
        return 1;
    if (o->selection.user != NULL && check_user(client, o->selection.user) != 0)
        return 1;
    return o->signal != NULL ? check_signal(o) : 0;
}

/* ---- The environment ---- */

static void
set_flag(const struct slurm_client *client, const char *name, bool *flag)
{
    const char *value = getenv(name);

    if (value == NULL)
        return;
    if (strcasecmp(value, "true") == 0)
        *flag = true;
    else if (strcasecmp(value, "false") != 0)
        slurm_client_error(client, "Unrecognized %s value: %s", name, value);
}

static void
read_environment(const struct slurm_client *client, struct scancel_options *o)
{
    const struct {
        const char *name;
        const char **value;
    } texts[] = {
        {"SCANCEL_ACCOUNT", &o->selection.account},
        {"SCANCEL_NAME", &o->selection.name},
        {"SCANCEL_PARTITION", &o->selection.partition},
        {"SCANCEL_QOS", &o->qos},
        {"SCANCEL_STATE", &o->selection.state},
        {"SCANCEL_USER", &o->selection.user},
        {"SCANCEL_WCKEY", &o->wckey},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (*texts[i].value == NULL)
            *texts[i].value = getenv(texts[i].name);
    set_flag(client, "SCANCEL_BATCH", &o->batch);
    set_flag(client, "SCANCEL_CTLD", &o->ctld);
    set_flag(client, "SCANCEL_FULL", &o->full);
    set_flag(client, "SCANCEL_HURRY", &o->hurry);
    set_flag(client, "SCANCEL_INTERACTIVE", &o->interactive);
    set_flag(client, "SCANCEL_VERBOSE", &o->verbose);
}

int
cancel_options_read(struct slurm_client *client, int argc, char **argv, struct scancel_options *o,
                    int *ret_first)
{
    struct error err = {0};

    *ret_first = slurm_client_options(client, &table, argc, argv, o);
    if (o->me
        && job_selection_find_own_user(&client->kctl, client->arena, &o->selection.user, &err) < 0)
        return slurm_client_fail(client, NULL, err.code, &err);
    read_environment(client, o);
    return check_options(client, o);
}
