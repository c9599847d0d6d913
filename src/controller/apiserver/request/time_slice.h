/* SPDX-License-Identifier: Apache-2.0 */
/* time_slice.h - work of the loop that is long, done a little at a time
 *
 * A list of all there is takes a second. It goes on for a millisecond a turn,
 * one slice after the other, so that the loop is held no longer however many
 * there are.
 *
 * Owns:    borrows the slices, which are parts of what their work is about.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct loop;
struct time_slice;
struct time_slices;

/* Some ten or hundred microseconds of it; false: that was the last, and the
 * slice may be gone.
 */
typedef bool time_slice_fn(struct time_slice *time_slice);

struct time_slice {
    struct list link;
    time_slice_fn *go;
};

/* Life. Finish does all that is left, at once, and from then on whatever is
 * added; free comes after it.
 */
void time_slices_finish(struct time_slices *time_slices);
void time_slices_free(struct time_slices *time_slices);
struct time_slices *time_slices_new(struct loop *loop)
    OWNED_BY(time_slices_free);

/* Begins in the next turn. Remove: of one that was added and has not ended, not
 * from within.
 */
void time_slices_add(struct time_slices *time_slices,
                     struct time_slice *time_slice,
                     time_slice_fn *go);
void time_slices_remove(struct time_slices *time_slices,
                        struct time_slice *time_slice);
