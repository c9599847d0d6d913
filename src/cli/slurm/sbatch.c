/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch - submits a batch job, by the code of ksub */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/submission_input.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/api/job/job.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

#define PATIENCE_MS 10000

static int
submit(struct slurm_client *client, const struct submission *s, const struct json *manifest,
       struct error *err)
{
    CLEANUP(object_unrefp) const struct object *job = NULL;
    struct job_submit request = {
        .namespace = manifest_namespace(s),
        .job = manifest,
        .patience_ms = PATIENCE_MS,
    };
    int r = kctl_open(&client->kctl, err);

    if (r < 0)
        return r;
    request.client = kctl_client(&client->kctl);
    r = job_submit_run(&request, &job, err);
    if (r < 0)
        return connection_advise(r, err);
    if (s->parsable)
        printf("%" PRId64 "\n", job_of(job)->status.id);
    else if (!s->quiet)
        printf("Submitted batch job %" PRId64 "\n", job_of(job)->status.id);
    return 0;
}

static int
run(struct slurm_client *client, int argc, char **argv)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;
    char **words = arena_new_array(client->arena, char *, (size_t)argc + 2);
    const struct json *manifest;
    struct error err = {0};
    int r;

    words[0] = argv[0];
    words[1] = arena_strdup(client->arena, "--sbatch");
    for (int i = 1; i <= argc; i++)
        words[i + 1] = argv[i];
    r = submission_input_read(&input, argc + 1, words, &err);
    if (r < 0)
        return slurm_client_fail(client, NULL, r, &err);
    manifest = manifest_make(&input.submission, &input.script, client->arena, &err);
    if (manifest == NULL)
        return slurm_client_fail(client, NULL, err.code, &err);
    r = submit(client, &input.submission, manifest, &err);
    if (r < 0)
        return slurm_client_fail(client, "Batch job submission failed", r, &err);
    return slurm_client_end(client);
}

static int
sbatch_run(struct slurm_client *client, int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        slurm_client_print_version();
        return slurm_client_end(client);
    }
    return run(client, argc, argv);
}

const struct slurm_command sbatch_slurm_command = {
    .name = "sbatch",
    .summary = "submit a batch job",
    .run = sbatch_run,
};
