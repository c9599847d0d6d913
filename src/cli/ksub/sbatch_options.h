/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_options.h - the options of Slurm's sbatch that have a meaning here
 *
 * The table has ksub's options and the rest of sbatch's: differences in options
 * that both have, options that mean the same on one node under another name,
 * options without an effect (their names are kept, to be reported), and options
 * that are refused with advice. `ksub --sbatch --help` prints how each is
 * handled, and doc/slurm.md compares them side by side.
 *
 * Thread: the main one.
 */
#pragma once

#include "cli/ksub/submission.h"
#include "lib/program/option.h"

const struct option_table *sbatch_options(void);

/* Patterns in file names, in addition to ksub's: the job's id (%J), and the
 * first task (%t) of the first node (%n) of the script (%s).
 */
#define SBATCH_PATTERNS "Jtns"

/* --gpus-per-task */
int sbatch_set_gpus_per_task(const struct option_spec *option, const char *value, void *target,
                             struct error *err);
