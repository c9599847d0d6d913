/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_variables.h - the variables SBATCH_... and SLURM_... of the environment that sbatch reads
 * as options
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

struct arena;

/* The options that the environment sets, as words of a command line ("--account=chem"), in the
 * arena.
 */
char **sbatch_variables_read(struct arena *arena, size_t *ret_count);
