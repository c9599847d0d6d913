/* SPDX-License-Identifier: Apache-2.0 */
/* ksub - submit a batch job, and print its id */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/ksub/cron_submit.h"
#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/node_request.h"
#include "cli/ksub/pipeline_submit.h"
#include "cli/ksub/script_hints.h"
#include "cli/ksub/submission.h"
#include "cli/ksub/submission_input.h"
#include "cli/ksub/test_only.h"
#include "cli/ksub/wait_for_job.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/program.h"
#include "lib/program/sibling.h"
#include "lib/yaml/yaml.h"

/* A controller that restarts answers again well before this. */
#define PATIENCE_MS            30000
#define PATIENCE_OF_SEVERAL_MS 90000 /* with several controllers: one may take over */

static int
print_manifest(const struct submission *s, const struct json *job)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (s->json) {
        json_print_indented(job, &text);
        if (text.length == 0 || text.text[text.length - 1] != '\n')
            strbuf_add_char(&text, '\n');
    } else {
        yaml_print(job, &text);
    }
    fwrite(text.text, 1, text.length, stdout);
    return 0;
}

static void
print_id(const struct submission *s, const struct object *job)
{
    if (s->parsable)
        printf("%" PRId64 "\n", job_of(job)->status.id);
    else if (!s->quiet)
        printf("Submitted job %" PRId64 "\n", job_of(job)->status.id);
    fflush(stdout); /* before waiting for long */
}

/* Prints that the warning signal comes only before a preemption. */
static void
print_unlimited(const struct submission *s, const struct object *job)
{
    const struct pod_spec *spec = job_of(job)->spec.template_.spec;

    if (s->has_signal && spec != NULL && spec->active_deadline_seconds == NULL)
        fprintf(stderr,
                "ksub: the job has no time limit, so --signal %s is sent only if the job is "
                "preempted (-t sets a limit)\n",
                s->signal.name);
}

/* Prints the values that the partition added because they were not given. */
static void
print_given(const struct object *job)
{
    const char *given = string_map_find(&job->meta->annotations, ANNOTATION_DEFAULTED);
    const struct pod_spec *spec = job_of(job)->spec.template_.spec;
    CLEANUP_STRBUF struct strbuf time = STRBUF_INIT;

    if (given == NULL || strstr(given, "time") == NULL || spec == NULL
        || spec->active_deadline_seconds == NULL || pod_spec_partition(spec) == NULL)
        return;
    duration_format(*spec->active_deadline_seconds, &time);
    fprintf(stderr,
            "ksub: no time limit was given; partition %s sets %s (use -t for "
            "another)\n",
            pod_spec_partition(spec), time.text);
}

/* If the job is not Completed: one line with the cause, in the texts of kctl jobs. */
static void
print_end(const struct job *job)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    CLEANUP_FREE char *clean = NULL;

    if (job_find_state(job) == JOB_STATE_COMPLETED)
        return;
    job_reason_describe_end(job, &words);
    clean = sanitize_text_dup(words.text);
    fprintf(stderr, "ksub: job %" PRId64 ": %s\n", job->status.id, clean);
}

/* Says what a user might not expect of a job of several nodes. */
static void
print_nodes(const struct submission *asked, const struct submission *s)
{
    CLEANUP_STRBUF struct strbuf division = STRBUF_INIT;

    if (s->quiet)
        return;
    if (asked->node_count == 0 && asked->nodes == NULL && s->node_count > 1)
        fprintf(stderr, "ksub: the job takes %" PRId64 " nodes%s; its script runs on %s\n",
                s->node_count,
                asked->slurm.tasks_per_node > 0 ? "" : ", as no node has room for all tasks",
                s->per_node ? "each of them" : "the first of them");
    node_request_format_division(s, &division);
    if (division.length > 0)
        fprintf(stderr, "ksub: %s\n", division.text);
}

static int
submit(struct submission_input *input, const struct json *manifest, struct arena *arena,
       int *ret_status, struct error *err)
{
    struct submission *s = &input->submission;
    const bool may_spread = node_request_may_spread(&input->asked);
    CLEANUP(connection_closep) struct connection *connection = NULL;
    CLEANUP(object_unrefp) const struct object *job = NULL, *ended = NULL;
    struct job_submit request = {
        .program = "ksub",
        .namespace = manifest_namespace(s),
        .job = manifest,
        .dry_run = s->test_only || s->cron != NULL,
        .is_test = s->test_only,
        .patience_ms = s->no_wait ? 0 : PATIENCE_MS,
    };
    int r =
        connection_open(s->server, NULL,
                        s->wait || s->test_only || s->cron != NULL || may_spread ? CONNECTION_OFTEN
                                                                                 : CONNECTION_ONCE,
                        &connection, err);

    if (r < 0)
        return r;
    request.client = connection_client(connection);
    if (!s->no_wait && strchr(connection_server(connection), ',') != NULL)
        request.patience_ms = PATIENCE_OF_SEVERAL_MS;
    if (may_spread)
        r = node_request_spread(&(struct node_spread){.program = "ksub",
                                                      .asked = &input->asked,
                                                      .script = &input->script,
                                                      .client = request.client,
                                                      .patience_ms = request.patience_ms,
                                                      .arena = arena},
                                s, &manifest, err);
    if (r < 0)
        return connection_advise(r, err);
    request.job = manifest;
    print_nodes(&input->asked, s);
    r = job_submit_run(&request, &job, err);
    if (r < 0)
        return connection_advise(r, err);
    if (!s->parsable && !s->quiet) {
        print_given(job);
        print_unlimited(s, job);
    }
    if (s->test_only) {
        struct submission given = *s;
        const struct pod_spec *spec = job_of(job)->spec.template_.spec;

        if (spec != NULL && spec->active_deadline_seconds != NULL)
            given.time_limit_s = *spec->active_deadline_seconds;
        return test_only_print(&given, request.client, manifest, err);
    }
    if (s->cron != NULL)
        return connection_advise(
            cron_submit_run(s, request.client, cron_submit_manifest(s, manifest, arena), err), err);
    print_id(s, job);
    if (!s->wait)
        return 0;
    r = wait_for_job("ksub", request.client, job, &ended, err);
    if (r < 0)
        return r;
    print_end(job_of(ended));
    *ret_status = job_exit_code(job_of(ended)); /* 128 plus the number of a signal */
    return 0;
}

/* Prints all problems, so that the user can correct the script in one pass. */
static int
end_with_problems(const struct submission_input *input)
{
    char *rest = input->problems.text;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        fprintf(stderr, "ksub: %s\n", line);
    if (input->n_problems > 1)
        fprintf(stderr, "ksub: %u problems, nothing was submitted\n", input->n_problems);
    if (input->reads_foreign && !input->submission.sbatch)
        fputs("ksub: #SBATCH lines are read as sbatch reads them; --no-sbatch "
              "ignores them\n",
              stderr);
    return EXIT_STATUS_USAGE;
}

/* Exits with the status of wrong usage. */
static int
end_misused(int r, const struct error *err)
{
    int status = (int)program_end("ksub", r, err);

    return r == -EINVAL || r == -ERANGE || r == -EOPNOTSUPP || r == -EFBIG || r == -E2BIG
               ? EXIT_STATUS_USAGE
               : status;
}

/* kalloc starts the job, holds it, and takes the terminal there. */
static int
become_interactive(int argc, char **argv)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **words = arena_new_array(arena, const char *, (size_t)argc + 1);

    words[0] = "ksub";
    for (int i = 1; i < argc; i++)
        words[i] = argv[i];
    words[argc] = NULL;
    fprintf(stderr, "ksub: kalloc, which runs interactive jobs, cannot be run: %s\n",
            strerror(-sibling_become("kalloc", words)));
    return EXIT_STATUS_FAILED;
}

static int
submit_several(struct submission_input *input, int argc, char **argv)
{
    struct error err = {0};
    int status = 0;
    int r = pipeline_submit_run(input, argc, argv, &status, &err);

    if (r == -EINVAL || r == -E2BIG)
        return end_misused(-EINVAL, &err);
    return r < 0 || status == 0 ? (int)program_end("ksub", r, &err) : status;
}

int
main(int argc, char **argv)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *line = program_join_words(argc, argv);
    const struct json *manifest;
    struct error err = {0};
    int status = 0;
    int r = submission_input_read(&input, argc, argv, &err);

    if (input.n_problems > 0)
        return end_with_problems(&input);
    if (r < 0)
        return end_misused(r, &err);
    if (r == 0 && input.submission.is_interactive)
        return become_interactive(argc, argv);
    if (input.submission.chain || input.submission.pipeline != NULL)
        return submit_several(&input, argc, argv);
    script_hints_print(&input);
    if (!input.submission.dry_run)
        input.submission.submit_line = line;
    manifest = manifest_make(&input.submission, &input.script, arena, &err);
    if (manifest == NULL)
        return end_misused(err.code, &err);
    if (input.submission.dry_run && input.submission.cron != NULL)
        manifest = cron_submit_manifest(&input.submission, manifest, arena);
    if (input.submission.dry_run)
        r = print_manifest(&input.submission, manifest);
    else
        r = submit(&input, manifest, arena, &status, &err);
    if (r < 0 || status == 0)
        return (int)program_end("ksub", r, &err);
    return status;
}
