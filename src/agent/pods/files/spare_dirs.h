/* SPDX-License-Identifier: Apache-2.0 */
/* spare_dirs.h - directories that are kept for later pods, with one file at
 * most
 *
 * Renaming a directory costs a fifth of removing one and making another,
 * because no inode is freed or allocated. A process that still has a directory
 * open from a former pod gains nothing: root owns it, and decides what it
 * contains.
 *
 * Owns:    STATE/spare/NUMBER, up to 64 of them.
 * Thread:  any; for workers.
 */
#pragma once

#include "lib/base/macro.h"

struct spare_dirs;

/* Life. spare_dirs_new also keeps the directories that an earlier agent left.
 */
void spare_dirs_free(struct spare_dirs *s);
struct spare_dirs *spare_dirs_new(const char *state_dir) OWNED_BY(spare_dirs_free);
DEFINE_CLEANUP(struct spare_dirs, spare_dirs_free)

/* spare_dirs_take renames one of them to that path; -ENOENT when there is none,
 * or another negative errno. spare_dirs_put keeps the directory at that path,
 * with a file named `kept`, or removes both; a directory with other contents
 * remains without the file.
 */
int spare_dirs_take(struct spare_dirs *s, const char *path);
void spare_dirs_put(struct spare_dirs *s, const char *path, const char *kept);
