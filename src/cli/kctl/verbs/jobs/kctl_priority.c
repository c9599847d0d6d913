/* SPDX-License-Identifier: Apache-2.0 */
/* kctl priority - changes the priority of waiting jobs */
#include <errno.h>
#include <stdlib.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/verbs/jobs/job_request.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

struct priority_options {
    struct common_options common;
};

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table priority_table = {
    .name = "kctl priority",
    .usage = "[OPTION]... NUMBER|CLASS JOB...",
    .summary = "Move waiting jobs before or behind others, by a priority "
               "class or a number;\n"
               "only operators can raise the number.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl get priorityclasses\n"
            "  kctl priority urgent 1042\n"
            "  kctl priority -- -100 1043 1044\n\n"
            "The same as 'kctl update job 1042 priority=urgent'.",
};

static int
run(struct kctl *kctl, UNUSED const void *options, int n_operands, char **operands,
    struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    static const struct job_request request = {.action = "update"};
    struct json *body = json_object(arena);
    struct job_choice choice = {0};
    int r;

    if (n_operands < 2 || operands[0][0] == '\0')
        return error_set(err, -EINVAL,
                         "give the priority and the jobs: kctl priority "
                         "urgent 1042");
    choice.n_operands = n_operands - 1;
    choice.operands = operands + 1;
    r = job_request_set_priority(json_make_object(arena, body, "update"), operands[0], arena, err);
    if (r == 0)
        r = job_request_choose(kctl, &choice, body, arena, err);
    if (r < 0)
        return r;
    return job_request_send(kctl, &request, &choice, body, arena, err);
}

const struct command priority_command = {
    .name = "priority",
    .options = &priority_table,
    .options_size = sizeof(struct priority_options),
    .run = run,
};
