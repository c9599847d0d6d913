/* SPDX-License-Identifier: Apache-2.0 */
/* tmp_dirs.h - where each job's TMPDIR is made, and how it goes
 *
 * TMP/kiln-RANDOM (0711, the agent's) has a directory a job, named by 128
 * random bits: nobody can be there first, and nobody but the job is told. The
 * name of the agent's directory is kept in its state directory; where somebody
 * else's stands in its place, another one is made. A directory that goes is
 * renamed into .gone (0700) first, so that removing it holds neither the job's
 * cores nor anything else, however long it takes.
 *
 * Owns:    the timer of what is still to be removed.
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
    struct loop *loop; /* NULL: what is put away is left to a later agent */
    struct workers *workers;
    const char *tmp_dir;
    const char *state_dir;
};

/* Life. Nothing is made before it is asked for. Free takes the agent's
 * directory away when it is empty and `is_idle`: no job is about to use it.
 */
void tmp_dirs_free(struct tmp_dirs *t, bool is_idle);
struct tmp_dirs *tmp_dirs_new(const struct tmp_dirs_settings *settings);

/* Whether directories can be made, by making one. */
int tmp_dirs_check(struct tmp_dirs *t, struct error *err);

/* A path for one, which is not made yet; the caller frees it. */
int tmp_dirs_name(struct tmp_dirs *t, char **ret_path, struct error *err);

/* Takes one away, as far as that can be done in a second. Left: something is
 * still to be removed, by tmp_dirs_sweep_soon.
 */
int tmp_dirs_remove(struct tmp_dirs *t,
                    const char *path,
                    bool *ret_left,
                    struct error *err);
void tmp_dirs_sweep_soon(struct tmp_dirs *t);

/* Removes the directories of an earlier agent, but those that are in use. */
void tmp_dirs_collect(struct tmp_dirs *t,
                      bool (*is_used)(const char *path, void *context),
                      void *context);
