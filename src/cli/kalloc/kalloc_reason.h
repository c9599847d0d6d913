/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc_reason.h - why a job waits, in the words of `kctl jobs`
 *
 * Thread:  the main one; not in a callback of the loop.
 */
#pragma once

struct arena;
struct object;

/* "" if that is not known. The text is the arena's and has no control characters. */
const char *kalloc_reason_find(const char *program, const char *server, const struct object *job,
                               struct arena *arena);
