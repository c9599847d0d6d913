/* SPDX-License-Identifier: Apache-2.0 */
/* scrub.h - reads the rows again while the store is open, and tells of those
 * that no longer agree with their checksum
 *
 * A slice at a time on the reader's worker, nothing while a batch waits or the
 * disk is full. Rows that were found when the store was opened are not told of
 * again. It changes nothing.
 *
 * Called by:  store.c.
 * Thread:     the loop's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct scrub;
struct store;

/* Life. Free: when the reader's worker has ended. */
void scrub_free(struct scrub *scrub);
struct scrub *scrub_new(struct store *store) OWNED_BY(scrub_free);

/* Change. Stop: no slice is begun any more. Tick: a second has passed. */
void scrub_stop(struct scrub *scrub);
void scrub_tick(void *scrub);

/* Look: rows found by this pass or by the last one, whichever has more. */
size_t scrub_count(const struct scrub *scrub);
