/* SPDX-License-Identifier: Apache-2.0 */
/* scancel - ends jobs, or sends them a signal */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/connect/inquiry.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

struct scancel_options {
    struct slurm_common_options common;
};

static const struct option_spec rows[] = {SLURM_COMMON_OPTIONS};

static const struct option_table table = {
    .name = "scancel",
    .usage = "[OPTION]... [JOB[_TASK]]...",
    .summary = "End jobs.",
    OPTION_ROWS(rows),
};

static int
cancel_one(struct slurm_client *client, const char *job)
{
    struct json *body = json_object(client->arena);
    struct json *answer;
    struct error err = {0};
    int r = kctl_open(&client->kctl, &err);

    json_set_string(client->arena, body, "ids", job);
    if (r == 0)
        r = inquiry_run(client->kctl.connection, HTTP_POST, "/kiln/v1/jobs/cancel", body,
                        client->arena, &answer, &err);
    return r < 0 ? slurm_client_fail(client, NULL, r, &err) : 0;
}

static int
scancel_run(struct slurm_client *client, int argc, char **argv)
{
    struct scancel_options o = {0};
    int status = 0;

    for (int i = slurm_client_options(client, &table, argc, argv, &o); i < argc; i++)
        if (cancel_one(client, argv[i]) != 0)
            status = 1;
    return status;
}

const struct slurm_command scancel_slurm_command = {
    .name = "scancel",
    .summary = "end jobs",
    .run = scancel_run,
};
