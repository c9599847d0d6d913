/* SPDX-License-Identifier: Apache-2.0 */
/* spares.h - empty directories that stand ready to be a pod's
 *
 * A directory that is renamed costs a fifth of one that is removed and one that
 * is made: no inode goes, and none has to be found. Who held it open when it
 * was another pod's gains nothing: it is root's, and so is what it lets in.
 *
 * Owns:    STATE/spare/NUMBER, up to 64 of them.
 * Thread:  any; for workers.
 */
#pragma once

#include "lib/base/macro.h"

struct spares;

/* Life. Takes up what an earlier agent left there. */
void spares_free(struct spares *s);
struct spares *spares_new(const char *state_dir) OWNED_BY(spares_free);
DEFINE_CLEANUP(struct spares, spares_free)

/* Take: one of them becomes that path; -ENOENT when there is none, or another
 * negative errno when it cannot. Put: the path goes there, or goes; what is not
 * empty stays.
 */
int spares_take(struct spares *s, const char *path);
void spares_put(struct spares *s, const char *path);

/* Look */
unsigned spares_count(struct spares *s);
