/* SPDX-License-Identifier: Apache-2.0 */
/* spare_dirs.h - directories that stand ready to be a pod's, with one file at most
 *
 * A directory that is renamed costs a fifth of one that is removed and one that
 * is made: no inode goes, and none has to be found. A process that still holds
 * it open from another pod gains nothing: it is root's, and so is what it lets
 * in.
 *
 * Owns:    STATE/spare/NUMBER, up to 64 of them.
 * Thread:  any; for workers.
 */
#pragma once

#include "lib/base/macro.h"

struct spare_dirs;

/* Life. Takes up what an earlier agent left there. */
void spare_dirs_free(struct spare_dirs *s);
struct spare_dirs *spare_dirs_new(const char *state_dir)
    OWNED_BY(spare_dirs_free);
DEFINE_CLEANUP(struct spare_dirs, spare_dirs_free)

/* Take: one of them becomes that path; -ENOENT when there is none, or another
 * negative errno when it cannot. Put: the path goes there, with a file of that
 * name, or both go; what holds anything else stays, without the file.
 */
int spare_dirs_take(struct spare_dirs *s, const char *path);
void spare_dirs_put(struct spare_dirs *s, const char *path, const char *kept);

/* Look */
unsigned spare_dirs_count(struct spare_dirs *s);
