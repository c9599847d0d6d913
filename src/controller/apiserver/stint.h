/* SPDX-License-Identifier: Apache-2.0 */
/* stint.h - work of the loop that is long, done a little at a time
 *
 * A list of all there is takes a second. It goes on for a millisecond a turn,
 * one stint after the other, so that the loop is held no longer however many
 * there are.
 *
 * Owns:    borrows the stints, which are parts of what their work is about.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct loop;
struct stint;
struct stints;

/* Some ten or hundred microseconds of it; false: that was the last, and the
 * stint may be gone.
 */
typedef bool stint_fn(struct stint *stint);

struct stint {
    struct list link;
    stint_fn *go;
};

/* Life. Finish does all that is left, at once, and from then on whatever is
 * added; free comes after it.
 */
void stints_finish(struct stints *stints);
void stints_free(struct stints *stints);
struct stints *stints_new(struct loop *loop) OWNED_BY(stints_free);

/* Begins in the next turn. Remove: of one that was added and has not ended, not
 * from within.
 */
void stints_add(struct stints *stints, struct stint *stint, stint_fn *go);
void stints_remove(struct stints *stints, struct stint *stint);
