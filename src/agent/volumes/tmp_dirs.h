/* SPDX-License-Identifier: Apache-2.0 */
/* tmp_dirs.h - makes and removes each job's TMPDIR
 *
 * TMP/kiln-RANDOM (0711, the agent's) has one directory per job, named by 128
 * random bits, so that other users can neither make it first nor guess it; only
 * the job gets the path. The name of the agent's directory is kept in its state
 * directory; if it has been replaced by somebody else's, another one is made. A
 * directory to be removed is first renamed into .gone (0700), so that a long
 * removal does not delay the release of the job's cores.
 *
 * Owns:    the timer of the sweeps.
 * Thread:  new, free, collect and sweep_soon the loop's; the rest any.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct error;
struct loop;
struct tmp_dirs;
struct workers;

struct tmp_dirs_settings {
    struct loop *loop; /* NULL: no sweeps; a later agent does them */
    struct workers *workers;
    const char *tmp_dir;
    const char *state_dir;
};

/* Life. The first use makes the agent's directory. tmp_dirs_free removes that
 * directory when it is empty and `is_idle`: no job is about to use it.
 */
void tmp_dirs_free(struct tmp_dirs *t, bool is_idle);
struct tmp_dirs *tmp_dirs_new(const struct tmp_dirs_settings *settings);

/* Whether directories can be made, by making one. */
int tmp_dirs_check(struct tmp_dirs *t, struct error *err);

/* A path for a job's directory, which is not made yet; the caller frees it. */
int tmp_dirs_name(struct tmp_dirs *t, char **ret_path, struct error *err);

/* Removes a job's directory, as far as that is possible within a second.
 * *ret_left: the rest is to be removed by tmp_dirs_sweep_soon.
 */
int tmp_dirs_remove(struct tmp_dirs *t, const char *path, bool *ret_left, struct error *err);
void tmp_dirs_sweep_soon(struct tmp_dirs *t);

/* Removes the directories of an earlier agent, except those in use. */
void tmp_dirs_collect(struct tmp_dirs *t, bool (*is_used)(const char *path, void *context),
                      void *context);
