/* SPDX-License-Identifier: Apache-2.0 */
/* srun_words.h - the command line of an srun that is called outside of a job: which of its
 * options are the job's that it needs, and which its step's
 *
 * Thread:  the main one.
 * Source:  srun(1) of Slurm 22.05.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct error;

/* The words as for main(): with the name first, and NULL at the end. */
struct srun_words {
    char **job;
    int n_job;
    char **step; /* with the command */
    int n_step;
};

/* `is_jobs` tells whether there is such an option for jobs. -EINVAL, -EOPNOTSUPP: with the
 * option and what is wrong with it, or no command was given.
 */
int srun_words_split(struct arena *arena, int argc, char **argv, bool (*is_jobs)(const char *name),
                     struct srun_words *ret_words, struct error *err);
