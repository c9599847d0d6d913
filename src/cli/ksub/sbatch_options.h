/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_options.h - the options of Slurm's sbatch, as far as they mean
 * something here
 *
 * The table is ksub's own with the rest of sbatch's beside it: what differs in
 * options that both have, those that mean the same on one node under another
 * name, those that do no harm (their names are kept, to be told), and those that
 * are refused with what to do instead.
 * `ksub --sbatch --help` prints what becomes of each, and doc/slurm.md says it
 * side by side.
 *
 * Thread: the main one.
 */
#pragma once

#include "cli/ksub/submission.h"
#include "lib/program/option.h"

const struct option_table *sbatch_options(void);

/* In names of files, beside ksub's: the job's id (%J), and the first task (%t)
 * of the first node (%n) of the script (%s).
 */
#define SBATCH_PATTERNS "Jtns"

/* Once all options are read: those that speak of each other (per node, per
 * GPU) become tasks, CPUs, GPUs and memory. -EINVAL where they contradict each
 * other.
 */
int sbatch_options_settle(struct submission *s, struct error *err);
