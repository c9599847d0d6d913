/* SPDX-License-Identifier: Apache-2.0 */
/* time_slice.h - long work on the loop, done a little at a time
 *
 * A list of every object takes a second. It is written in turns of a
 * millisecond, one slice after the other, so that the loop is held no longer
 * than one turn however many slices there are.
 *
 * Owns:    nothing: slices are parts of the structs of their work.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/list.h"
#include "lib/base/macro.h"

struct loop;
struct time_slice;
struct time_slices;

/* Does ten to some hundred microseconds of the work. Returns false after the
 * last part; the slice may be freed by then.
 */
typedef bool time_slice_fn(struct time_slice *time_slice);

struct time_slice {
    struct list link;
    time_slice_fn *go;
};

/* Life. Finish does all remaining work at once, and from then on does whatever
 * is added at once, too. Call free after it.
 */
void time_slices_finish(struct time_slices *time_slices);
void time_slices_free(struct time_slices *time_slices);
struct time_slices *time_slices_new(struct loop *loop) OWNED_BY(time_slices_free);

/* The work begins in the loop's next turn. Remove takes a slice that was added
 * and has not ended; its own function must not call it.
 */
void time_slices_add(struct time_slices *time_slices, struct time_slice *time_slice,
                     time_slice_fn *go);
void time_slices_remove(struct time_slices *time_slices, struct time_slice *time_slice);
