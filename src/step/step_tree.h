/* SPDX-License-Identifier: Apache-2.0 */
/* step_tree.h - directories that a kiln-step makes for its step, and removes
 *
 * A kiln-step has its directory locked as long as it lives. One that is not locked, and
 * not new, was left by a kiln-step that was killed.
 *
 * Thread:  the program's only one, as the user.
 */
#pragma once

/* Returns a descriptor that has the lock; -1: there is none. */
int step_tree_lock(const char *path);

/* With all that is in it; links are not followed. */
void step_tree_remove(const char *path);

/* Removes what was left in `base` under names with that beginning. */
void step_tree_sweep(const char *base, const char *begin);
