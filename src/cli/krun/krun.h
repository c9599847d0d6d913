/* SPDX-License-Identifier: Apache-2.0 */
/* krun.h - the program krun, also as one of Slurm's commands
 *
 * Thread:  the main one.
 */
#pragma once

/* The exit status. `name` is how the program calls itself: "krun", or "srun". */
int krun_run(const char *name, int argc, char **argv);
