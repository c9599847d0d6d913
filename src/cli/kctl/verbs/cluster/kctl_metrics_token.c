/* SPDX-License-Identifier: Apache-2.0 */
/* kctl metrics-token - makes a token with which a program can read the metrics
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/tls_access.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

struct metrics_token_options {
    struct common_options common;
    bool revoke;
};

static const struct option_spec metrics_token_rows[] = {
    COMMON_OPTIONS,
    {.name = "revoke",
     .help = "revoke the token with this name",
     .type = OPTION_FLAG,
     .offset = offsetof(struct metrics_token_options, revoke)},
};

static const struct option_table metrics_token_table = {
    .name = "kctl metrics-token",
    .usage = "[OPTION]... NAME",
    .summary = "Make a token that lets a program such as Prometheus read the "
               "controller's metrics and nothing else; replaces an earlier "
               "token with that name.",
    OPTION_ROWS(metrics_token_rows),
};

static int
metrics_token_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
                  struct error *err)
{
    const struct metrics_token_options *o = options;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *token;
    int r;

    if (n_operands != 1)
        return error_set(err, -EINVAL, "give one name for the token, such as 'prometheus'");
    if (operands[0][0] == '\0'
        || operands[0][strspn(operands[0], "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
        return error_set(err, -EINVAL,
                         "'%s': a name consists of lower-case letters, digits "
                         "and '-'",
                         operands[0]);
    r = kctl_open(kctl, err);
    if (r < 0)
        return r;
    if (o->revoke) {
        r = tls_access_end_metrics_token(kctl->connection, operands[0], arena, err);
        if (r == 0)
            printf("the token '%s' was revoked\n", operands[0]);
        return r;
    }
    r = tls_access_make_metrics_token(kctl->connection, operands[0], arena, &token, err);
    if (r == 0)
        puts(token);
    return r;
}

const struct command metrics_token_command = {
    .name = "metrics-token",
    .options = &metrics_token_table,
    .options_size = sizeof(struct metrics_token_options),
    .run = metrics_token_run,
};
