/* SPDX-License-Identifier: Apache-2.0 */
/* srun - run tasks on the CPUs of a job: krun, under its other name */
#include "cli/krun/krun.h"
#include "cli/slurm/slurm_command.h"
#include "lib/base/macro.h"

static int
srun_run(UNUSED struct slurm_client *client, int argc, char **argv)
{
    return krun_run("srun", argc, argv);
}

const struct slurm_command srun_slurm_command = {
    .name = "srun",
    .summary = "run tasks on the CPUs of a job",
    .run = srun_run,
};
