/* SPDX-License-Identifier: Apache-2.0 */
/* job_words.h - how Slurm's users name jobs: "17", "17_4", "17_[1-3,5]", "17.0", and lists of them
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>

struct arena;

/* The next word of a list that is separated by commas outside of brackets, in the arena; NULL at
 * its end.
 */
const char *job_words_next(const char **list, struct arena *arena);

/* Whether a word is a job, or tasks of one. */
bool job_words_is_job(const char *word);
