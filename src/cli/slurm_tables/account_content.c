/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/account_content.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kctl/client/job_content.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/account_fetch.h"
#include "cli/slurm_tables/account_row.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/client/sync_call.h"

#define WIDTH 80

static void
print_heading(int64_t id, bool is_environment)
{
    if (is_environment)
        printf("Environment used for %" PRId64 " (must be batch to display)\n", id);
    else
        printf("Batch Script for %" PRId64 "\n", id);
    for (unsigned i = 0; i < WIDTH; i++)
        putchar('-');
    putchar('\n');
}

/* Entries of an environment end with a NUL. */
static void
print_text(const struct sync_call *content)
{
    for (size_t i = 0; i < content->length; i++)
        putchar(content->text[i] == '\0' ? '\n' : content->text[i]);
    putchar('\n');
}

static int
print_one(struct slurm_client *client, int64_t id, bool is_environment)
{
    CLEANUP_SYNC_CALL struct sync_call content = {0};
    char *operand = arena_printf(client->arena, "%" PRId64, id);
    struct target_object job;
    struct json *object = NULL;
    struct error err = {0};
    int r = kctl_open(&client->kctl, &err);

    if (r == 0)
        r = resource_parse_one(&client->kctl, &job_kind, 1, &operand, client->arena, &job, &err);
    if (r == 0)
        r = kctl_get(&client->kctl, &job, client->arena, &object, &err);
    if (r == -ENOENT) {
        slurm_client_error(client, "job %" PRId64 " was deleted, and its script with it", id);
        return EXIT_FAILURE;
    }
    if (r == 0)
        r = job_content_fetch(&client->kctl, &job, is_environment ? "environment" : "script",
                              &content, &err);
    if (r < 0 && r != -ENOENT) {
        slurm_client_error(client, "job %" PRId64 ": %s", id, slurm_client_reason(r, &err));
        return EXIT_FAILURE;
    }
    print_heading(id, is_environment);
    if (r == 0)
        print_text(&content);
    else
        printf("NONE\n\n");
    return EXIT_SUCCESS;
}

/* All tasks and attempts of a job have the same. */
static bool
is_first_of_job(const struct account_rows *rows, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (rows->items[i].id == rows->items[at].id)
            return false;
    return true;
}

int
account_content_print(struct slurm_client *client, const struct account_rows *rows,
                      bool is_environment)
{
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < rows->count; i++)
        if (is_first_of_job(rows, i)
            && print_one(client, rows->items[i].id, is_environment) != EXIT_SUCCESS)
            status = EXIT_FAILURE;
    return status;
}
