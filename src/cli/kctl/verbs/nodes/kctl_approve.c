/* SPDX-License-Identifier: Apache-2.0 */
/* kctl approve, kctl reset - admit a node, or let it register again */
#include <stdio.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table approve_table = {
    .name = "kctl approve",
    .usage = "[OPTION]... node NODE...",
    .summary = "Let jobs run on nodes that have enrolled and wait for "
               "approval.",
    OPTION_ROWS(rows),
    .more = "Example: kctl approve node n7",
};
static const struct option_table reset_table = {
    .name = "kctl reset",
    .usage = "[OPTION]... node NODE...",
    .summary = "Forget the secrets of nodes, so that they can enrol again.",
    OPTION_ROWS(rows),
    .more = "For a node that was reinstalled and has lost its secret.\n"
            "Example: kctl reset node n7",
};

static int
post(struct kctl *kctl, int n_operands, char **operands, const char *subresource, const char *done,
     struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources nodes;
    int r = resource_parse(kctl, &node_kind, n_operands, operands, arena, &nodes, err);

    for (size_t i = 0; r == 0 && i < nodes.count; i++) {
        const struct client_request request = {
            .verb = CLIENT_CREATE,
            .kind = &node_kind,
            .name = nodes.items[i].name,
            .subresource = subresource,
            .body = json_object(arena),
        };

        r = kctl_call(kctl, &request, arena, NULL, err);
        if (r == 0)
            printf("%s %s\n", kctl_label(&nodes.items[i], arena), done);
    }
    return r;
}

static int
approve_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    (void)options;
    return post(kctl, n_operands, operands, "approve", "approved", err);
}

static int
reset_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    (void)options;
    return post(kctl, n_operands, operands, "reset", "may enrol again", err);
}

const struct command approve_command = {
    .name = "approve",
    .options = &approve_table,
    .options_size = sizeof(struct common_options),
    .run = approve_run,
};

const struct command reset_command = {
    .name = "reset",
    .options = &reset_table,
    .options_size = sizeof(struct common_options),
    .run = reset_run,
};
