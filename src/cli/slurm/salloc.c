/* SPDX-License-Identifier: Apache-2.0 */
/* salloc - allocate nodes, and use them from here: kalloc, under its other name */
#include "cli/kalloc/kalloc.h"
#include "cli/slurm/slurm_command.h"
#include "lib/base/macro.h"

static int
salloc_run(UNUSED struct slurm_client *client, int argc, char **argv)
{
    return kalloc_run("salloc", argc, argv);
}

const struct slurm_command salloc_slurm_command = {
    .name = "salloc",
    .summary = "allocate nodes, and use them from here",
    .run = salloc_run,
};
