/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc.h - the program kalloc, also as one of Slurm's commands
 *
 * Thread:  the main one.
 */
#pragma once

/* The exit status. `name` is how the program calls itself: "kalloc"; "salloc" or "srun", whose
 * words it then uses; or "ksub", for ksub --interactive. Call it before anything is opened: it
 * forks.
 */
int kalloc_run(const char *name, int argc, char **argv);
