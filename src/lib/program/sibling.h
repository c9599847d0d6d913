/* SPDX-License-Identifier: Apache-2.0 */
/* sibling.h - starts another program of the same installation in place of this one
 *
 * Thread:  the only one.
 */
#pragma once

struct arena;

/* Runs the program beside this one (in a build), or that of the folder of programs, or that of
 * $PATH. Returns only if there is none: a negative errno.
 */
int sibling_become(const char *name, const char *const *words);

/* The path of this program; NULL if it is not known. */
const char *sibling_own_path(struct arena *arena);
