/* SPDX-License-Identifier: Apache-2.0 */
/* krun.h - the program krun, also as one of Slurm's commands
 *
 * Thread:  the main one.
 */
#pragma once

/* The exit status. `name` is how the program calls itself: "krun", or "srun". */
int krun_run(const char *name, int argc, char **argv);

/* A variable with the number of a pipe, of a program that has started krun and tells its user
 * why a job has ended: krun writes a byte there if its step was lost with the job, and says nothing.
 */
#define KRUN_LOST "KRUN_LOST"
