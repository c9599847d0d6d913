/* SPDX-License-Identifier: Apache-2.0 */
/* kctl version - of this program, and of the controller */
#include <errno.h>
#include <stdio.h>

#include "cli/connect/connection.h"
#include "cli/kctl/command.h"
#include "cli/kctl/kctl.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"

struct version_options {
    struct common_options common;
    bool client_only;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "client",
     .help = "of this program alone",
     .type = OPTION_FLAG,
     .offset = offsetof(struct version_options, client_only)},
};

static const struct option_table table = {
    .name = "kctl version",
    .usage = "[OPTION]...",
    .summary = "Show the versions of kctl and of the controller.",
    OPTION_ROWS(rows),
};

struct question {
    struct loop *loop;
    struct error *err;
    int result;
};

static void
answered(const struct http_answer *answer, const struct error *err, void *arg)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct question *q = arg;
    const struct json *version;

    if (answer == NULL)
        q->result = error_set(q->err, err->code, "%s", err->text);
    else if (answer->status != 200)
        q->result = error_set(q->err,
                              -EREMOTEIO,
                              "the server answered with HTTP status %d",
                              answer->status);
    else {
        version = json_parse(arena, answer->body, answer->length, NULL, NULL);
        printf("Server: %s\n",
               json_get_text(version, "gitVersion") != NULL
                   ? json_get_text(version, "gitVersion")
                   : "unknown");
    }
    loop_stop(q->loop);
}

static int
version_run(struct kctl *kctl,
            const void *options,
            int n_operands,
            char **operands,
            struct error *err)
{
    const struct version_options *o = options;
    struct question q = {.err = err};
    const struct http_question http = {
        .method = HTTP_GET,
        .target = "/version",
        .done = answered,
        .arg = &q,
    };
    int r;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    printf("Client: v%s\n", PACKAGE_VERSION);
    if (o->client_only)
        return 0;
    r = kctl_open(kctl, err);
    if (r < 0)
        return r;
    q.loop = kctl_client(kctl)->loop;
    http_client_call(connection_http(kctl->connection), &http);
    loop_run(q.loop);
    return connection_advise(q.result, err);
}

const struct command version_command = {
    .name = "version",
    .options = &table,
    .options_size = sizeof(struct version_options),
    .run = version_run,
};
