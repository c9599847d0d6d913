/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch - submits a batch job, by the code of ksub
 *
 * Tools read the first line of the output, often with standard error in it. So the id comes first,
 * and what ksub says about a script follows it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/connect/connection.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/node_request.h"
#include "cli/ksub/sbatch_options.h"
#include "cli/ksub/script_hints.h"
#include "cli/ksub/submission_input.h"
#include "cli/ksub/test_only.h"
#include "cli/ksub/wait_for_job.h"
#include "cli/print/local_time.h"
#include "cli/slurm/sbatch_variables.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

/* The tasks of an array that failed, whose exit codes are compared. */
#define MOST_TASKS 1000
#define MOST_TRIES 10
#define PAUSE_MS   200

/* Slurm's exit status after a wrong option, and after other errors. */
#define STATUS_MISUSED 255
#define STATUS_FAILED  1

/* $SLURM_EXIT_ERROR replaces both. */
static int
failure(int status)
{
    const char *own = getenv("SLURM_EXIT_ERROR");

    return own != NULL && own[0] != '\0' ? atoi(own) & 0xff : status;
}

/* ---- Errors in Slurm's words ---- */

/* Slurm's words about a script that it does not take; false: the script is not the mistake. */
static bool
explain_script(const struct slurm_client *client, const struct submission_input *input)
{
    const char *text = input->script.text;
    const size_t length = input->script.length;

    if (input->submission.wrapped != NULL)
        return false;
    if (length == 0) {
        slurm_client_error(client, "Batch script is empty!");
    } else if (strspn(text, " \t\r\n") == length) {
        slurm_client_error(client, "Batch script contains only whitespace!");
    } else if (length < 2 || text[0] != '#' || text[1] != '!') {
        slurm_client_error(client, "This does not look like a batch script.  The first");
        slurm_client_error(client,
                           "line must start with #! followed by the path to an interpreter.");
        slurm_client_error(client, "For instance: #!/bin/sh");
    } else if (memchr(text, '\0', length) != NULL) {
        slurm_client_error(client, "The Slurm controller does not allow scripts that");
        slurm_client_error(client, "contain a NULL character '\\0'.");
    } else if (strstr(text, "\r\n") != NULL) {
        slurm_client_error(client, "Batch script contains DOS line breaks (\\r\\n)");
        slurm_client_error(client, "instead of expected UNIX line breaks (\\n).");
    } else {
        return false;
    }
    return true;
}

/* All problems of the script, so that it is corrected in one pass. */
static int
end_with_problems(const struct slurm_client *client, struct submission_input *input)
{
    char *rest = input->problems.text;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        slurm_client_error(client, "%s", line);
    return failure(STATUS_MISUSED);
}

/* "--time: 'x' is not a time" is "Invalid --time specification: 'x' is not a time". */
static int
end_misused(const struct slurm_client *client, int r, const struct error *err)
{
    const char *colon = strchr(err->text, ':');

    if (strncmp(err->text, "unknown option", 14) == 0
        || strstr(err->text, " needs a value") != NULL)
        fprintf(stderr, "sbatch: %s\nTry \"sbatch --help\" for more information\n", err->text);
    else if (r != -EOPNOTSUPP && strncmp(err->text, "--", 2) == 0 && colon != NULL
             && strcspn(err->text, " ") > (size_t)(colon - err->text))
        slurm_client_error(client, "Invalid %.*s specification%s", (int)(colon - err->text),
                           err->text, colon);
    else
        slurm_client_error(client, "%s", err->text);
    return failure(STATUS_MISUSED);
}

static int
end_unread(const struct slurm_client *client, struct submission_input *input, int r,
           const struct error *err)
{
    const struct submission *s = &input->submission;

    if (input->n_problems > 0)
        return end_with_problems(client, input);
    if (s->slurm.clusters != NULL && r == -ENOENT && input->is_misused) {
        slurm_client_error(
            client,
            "'%s' can't be reached now, or it is an invalid entry for --cluster.  Use "
            "'sacctmgr list clusters' to see available clusters.",
            s->slurm.clusters);
        return failure(STATUS_FAILED);
    }
    if (input->is_misused)
        return end_misused(client, r, err);
    if (s->wrapped != NULL && s->script_path != NULL)
        slurm_client_error(client, "Script arguments not permitted with --wrap option");
    else if (s->script_path != NULL && input->script.length == 0 && r != -EINVAL)
        slurm_client_error(client, "Unable to open file %s", s->script_path);
    else if (!explain_script(client, input))
        slurm_client_error(client, "%s", err->text);
    return failure(STATUS_FAILED);
}

/* Slurm's texts for refusals that tools and people look for. The controller's own follow them. */
static const char *
find_slurms_words(int r, const struct error *err)
{
    static const struct {
        const char *ours, *slurms;
    } texts[] = {
        {"there is no account", "Invalid account or account/partition combination specified"},
        {"cannot create jobs", "Invalid account or account/partition combination specified"},
        {"priority class", "Invalid qos specification"},
        {"limit of", "Requested time limit is invalid (missing or exceeds some limit)"},
        {"deadline", "Requested time limit is invalid (missing or exceeds some limit)"},
        {"partition", "Invalid partition name specified"},
        {"depend", "Job dependency problem"},
        {"array", "Invalid job array specification"},
        {"reservation", "Requested reservation is invalid"},
        {"can never run", "Requested node configuration is not available"},
        {"quota",
         "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"},
    };

    if (r == -ECONNREFUSED || err->code == 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (strcasestr(err->text, texts[i].ours) != NULL)
            return texts[i].slurms;
    return NULL;
}

static int
end_refused(const struct slurm_client *client, int r, const struct error *err)
{
    const char *words = find_slurms_words(r, err);

    if (words == NULL)
        slurm_client_fail(client, "Batch job submission failed", r, err);
    else {
        slurm_client_error(client, "%s", err->text);
        slurm_client_error(client, "Batch job submission failed: %s", words);
    }
    return failure(STATUS_FAILED);
}

/* ---- Submission ---- */

/* Whether a reader of the id would read the other lines, too. */
static bool
is_merged(void)
{
    struct stat out, err;

    return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0
           && !isatty(STDOUT_FILENO) && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

static void
print_id(const struct submission *s, const struct object *job)
{
    const int64_t id = job_of(job)->status.id;
    const char *cluster = s->slurm.clusters;

    if (s->parsable)
        printf("%" PRId64 "%s%s\n", id, cluster != NULL ? ";" : "", cluster != NULL ? cluster : "");
    else if (!s->quiet)
        printf("Submitted batch job %" PRId64 "%s%s\n", id, cluster != NULL ? " on cluster " : "",
               cluster != NULL ? cluster : "");
    fflush(stdout); /* before waiting for long */
}

static void
print_notes(const struct submission_input *input, const struct strbuf *warnings)
{
    const struct submission *s = &input->submission;

    if (s->quiet || (s->parsable && is_merged()))
        return;
    for (const char *line = warnings->text; warnings->length > 0 && *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        fprintf(stderr, "sbatch: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    script_hints_print(input);
}

/* The largest exit code, 1 for a task that ended by a signal. False: of a task it is not known yet,
 * because the pods are gone and history is written a moment later.
 */
static bool
find_largest(const struct json *items, int *largest)
{
    bool is_known = true;

    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);
        const int code = (int)(json_get_int(item, "exitCode", 0) & 0xff);
        const bool has_signal = json_get_int(item, "signal", 0) > 0;

        if (json_get(item, "exitCode") == NULL && !has_signal)
            is_known = false;
        if (!has_signal && code > *largest)
            *largest = code;
    }
    return is_known;
}

/* Of the tasks of an array that failed. */
static int
array_status(struct slurm_client *client, const struct job *job)
{
    CLEANUP_STRBUF struct strbuf operand = STRBUF_INIT;
    struct arena *arena = client->arena;
    struct task_list tasks, failed;
    struct json *items = NULL;
    int largest = 1;

    if (job->status.failed_indexes == NULL
        || task_list_parse(arena, job->spec.array->tasks, &tasks, NULL) < 0
        || task_list_parse(arena, job->status.failed_indexes, &failed, NULL) < 0)
        return largest;
    strbuf_printf(&operand, "%" PRId64 "_[", job->status.id);
    for (int64_t i = 0; i < failed.total && i < MOST_TASKS; i++)
        strbuf_printf(&operand, "%s%" PRId64, i > 0 ? "," : "",
                      task_list_at(&tasks, task_list_at(&failed, i)));
    strbuf_add_char(&operand, ']');
    for (unsigned tries = 0; failed.total > 0 && tries < MOST_TRIES; tries++) {
        if (job_tasks_fetch(&client->kctl, operand.text, arena, &items, NULL) < 0
            || find_largest(items, &largest))
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
    }
    return largest;
}

/* Slurm: the job's exit code, and 1 after a signal or if the job ended without one. */
static int
wait_status(struct slurm_client *client, const struct job *job)
{
    const int64_t *code = job->status.exit_code;
    const struct job_run *run = job->status.last_run;

    if (job_find_state(job) == JOB_STATE_COMPLETED)
        return 0;
    if (job->spec.array != NULL)
        return array_status(client, job);
    if (job_find_state(job) != JOB_STATE_FAILED || code == NULL || (*code & 0xff) == 0
        || (run != NULL && run->signal != 0))
        return 1;
    return (int)(*code & 0xff);
}

static int
submit(struct slurm_client *client, const struct submission_input *input,
       const struct json *manifest, int *ret_status, struct error *err)
{
    const struct submission *s = &input->submission;
    CLEANUP(object_unrefp) const struct object *job = NULL, *ended = NULL;
    CLEANUP_STRBUF struct strbuf warnings = STRBUF_INIT;
    const struct job_submit request = {
        .warnings = &warnings,
        .client = kctl_client(&client->kctl),
        .namespace = manifest_namespace(s),
        .job = manifest,
        .patience_ms = slurm_client_patience_ms(client),
    };
    int r = job_submit_run(&request, &job, err);

    if (r < 0)
        return r;
    print_id(s, job);
    print_notes(input, &warnings);
    if (!s->wait)
        return 0;
    r = wait_for_job(client->name, request.client, job, &ended, err);
    if (r == 0)
        *ret_status = wait_status(client, job_of(ended));
    return r;
}

/* ---- --test-only ---- */

static int
end_impossible(const char *why)
{
    fputs("allocation failure: Requested node configuration is not available\n", stderr);
    if (why != NULL && why[0] != '\0')
        fprintf(stderr, "sbatch: error: %s\n", why);
    return failure(STATUS_FAILED);
}

static int
print_test(const struct submission *s, const struct object *job, const struct json *why)
{
    const char *chance = json_path_text(why, "start.chance");
    const char *node = json_path_text(why, "start.node");
    const char *from = json_path_text(why, "start.from");
    const char *message = json_path_text(why, "start.message");
    const struct pod_spec *spec = job_of(job)->spec.template_.spec;
    const char *partition = spec != NULL ? pod_spec_partition(spec) : NULL;
    int64_t at_us = clock_real_us(&clock_system);
    char at[LOCAL_TIME_SIZE] = "Unknown";

    if (chance == NULL || strcmp(chance, "Never") == 0)
        return end_impossible(message != NULL ? message : json_path_text(why, "cause.message"));
    if (s->quiet)
        return 0;
    if (strcmp(chance, "Now") == 0 || (from != NULL && time_parse(from, &at_us) == 0)) {
        if (s->begin_at_us > at_us)
            at_us = s->begin_at_us;
        local_time_format(at_us, at);
        at[strcspn(at, " ")] = 'T'; /* as Slurm writes it */
    }
    fprintf(stderr,
            "sbatch: Job 0 to start at %s using %" PRId64
            " processors on nodes %s in partition %s\n",
            at, submission_cpus(s) * (s->node_count > 1 ? s->node_count : 1),
            node != NULL ? node : "(null)", partition != NULL ? partition : "all");
    return 0;
}

static int
test(struct slurm_client *client, const struct submission *s, const struct json *manifest)
{
    CLEANUP(object_unrefp) const struct object *job = NULL;
    CLEANUP_STRBUF struct strbuf warnings = STRBUF_INIT; /* the answer says the same */
    const struct job_submit request = {
        .warnings = &warnings,
        .client = kctl_client(&client->kctl),
        .namespace = manifest_namespace(s),
        .job = manifest,
        .dry_run = true,
        .is_test = true,
        .patience_ms = slurm_client_patience_ms(client),
    };
    const struct json *why = NULL;
    struct error err = {0};
    int r = job_submit_run(&request, &job, &err);

    if (r == 0)
        r = test_only_ask(s, request.client, manifest, client->arena, &why, &err);
    if (r == 0)
        return print_test(s, job, why);
    if (r == -ENODEV)
        return end_impossible(err.text);
    connection_advise(r, &err);
    fprintf(stderr, "allocation failure: %s\n", slurm_client_reason(r, &err));
    return failure(STATUS_FAILED);
}

/* ---- The command ---- */

static int
print_help(const struct slurm_client *client)
{
    CLEANUP_STRBUF struct strbuf help = STRBUF_INIT;
    struct option_table table = *sbatch_options();

    table.name = "sbatch";
    table.usage = "[OPTION]... SCRIPT [ARGUMENT]...";
    table.summary =
        "Submit a batch job, and print its id. Options can also be given in the script, in "
        "lines that begin with #SBATCH, and in environment variables such as "
        "SBATCH_TIMELIMIT; the command line overrides the environment, and the "
        "environment overrides the script.";
    table.more = NULL;
    option_format_help(&table, &help);
    fwrite(help.text, 1, help.length, stdout);
    return slurm_client_end(client);
}

/* The umask of the files that the job writes. */
static void
set_umask(void)
{
    const char *text = getenv("SLURM_UMASK");

    if (text != NULL && text[0] != '\0' && text[strspn(text, "01234567")] == '\0')
        umask((mode_t)strtol(text, NULL, 8) & 0777);
}

static int
run(struct slurm_client *client, struct submission_input *input)
{
    struct submission *s = &input->submission;
    const struct json *manifest;
    struct error err = {0};
    int status = 0;
    int r;

    if (s->job_name == NULL && s->script_path == NULL && s->wrapped == NULL)
        s->job_name = "sbatch"; /* from standard input */
    set_umask();
    manifest = manifest_make(s, &input->script, client->arena, &err);
    if (manifest == NULL) {
        slurm_client_error(client, "%s", err.text);
        return failure(STATUS_MISUSED);
    }
    r = kctl_open(&client->kctl, &err);
    input->asked.job_name = s->job_name;
    if (r == 0 && node_request_may_spread(&input->asked))
        r = node_request_spread(
            &(struct node_spread){.asked = &input->asked,
                                  .script = &input->script,
                                  .client = kctl_client(&client->kctl),
                                  .patience_ms = slurm_client_patience_ms(client),
                                  .arena = client->arena},
            s, &manifest, &err);
    if (r == 0 && s->test_only)
        return test(client, s, manifest);
    if (r == 0)
        r = submit(client, input, manifest, &status, &err);
    if (r < 0)
        connection_advise(r, &err);
    if (r < 0)
        return end_refused(client, r, &err);
    return status != 0 ? status : slurm_client_end(client);
}

static int
print_version(const struct slurm_client *client)
{
    slurm_client_print_version();
    return slurm_client_end(client);
}

static int
submit_input(struct slurm_client *client, int argc, char **argv)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;
    CLEANUP_FREE char *line = program_join_words(argc, argv);
    size_t n_words = 0;
    char **words = sbatch_variables_read(client->arena, &n_words);
    struct error err = {0};
    int r = submission_input_read_sbatch(&input, words, n_words, argc, argv, &err);

    if (r == OPTION_HELP)
        return print_help(client);
    if (r == OPTION_VERSION)
        return print_version(client);
    if (r < 0)
        return end_unread(client, &input, r, &err);
    input.submission.submit_line = line;
    return run(client, &input);
}

static int
sbatch_run(struct slurm_client *client, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "-V") == 0)
        return print_version(client);
    if (argc == 2 && strcmp(argv[1], "--usage") == 0) {
        puts("Usage: sbatch [OPTION]... SCRIPT [ARGUMENT]...");
        return slurm_client_end(client);
    }
    return submit_input(client, argc, argv);
}

const struct slurm_command sbatch_slurm_command = {
    .name = "sbatch",
    .summary = "submit a batch job",
    .run = sbatch_run,
};
