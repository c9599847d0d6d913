/* SPDX-License-Identifier: Apache-2.0 */
/* kctl hostnames - the names in a list of nodes, one on a line */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kctl/client/command.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

struct hostnames_options {
    struct common_options common;
};

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table table = {
    .name = "kctl hostnames",
    .usage = "[OPTION]... [LIST]...",
    .summary = "Print the names in lists of nodes, one on a line. Without a list, those of the "
               "job that it is called in ($KILN_JOB_NODELIST).",
    OPTION_ROWS(rows),
    .more = "Example: kctl hostnames 'n[1-3,7]'",
};

static int
print_names(const char *list, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(arena, list, &names, &count, err);

    for (size_t i = 0; r == 0 && i < count; i++)
        puts(names[i]);
    return r;
}

static int
hostnames_run(UNUSED struct kctl *kctl, UNUSED const void *options, int n_operands, char **operands,
              struct error *err)
{
    const char *own = getenv("KILN_JOB_NODELIST");
    int r = 0;

    if (n_operands == 0 && (own == NULL || own[0] == '\0'))
        return error_set(err, -EINVAL,
                         "no list of nodes, and KILN_JOB_NODELIST is not set, as it is in jobs");
    if (n_operands == 0)
        return print_names(own, err);
    for (int i = 0; i < n_operands && r == 0; i++)
        r = print_names(operands[i], err);
    return r;
}

const struct command hostnames_command = {"hostnames", &table, sizeof(struct hostnames_options),
                                          hostnames_run};
