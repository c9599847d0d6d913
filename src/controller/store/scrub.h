/* SPDX-License-Identifier: Apache-2.0 */
/* scrub.h - reads the rows again while the store is open, and reports those
 * that no longer agree with their checksum
 *
 * It reads a slice at a time on the reader's worker, and none while a batch
 * waits or the disk is full. Rows that were found when the store was opened are
 * not reported again. It changes nothing.
 *
 * Called by:  store.c.
 * Thread:     the loop's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct scrub;
struct store;

/* Life. Free is called after the reader's worker has ended. */
void scrub_free(struct scrub *scrub);
struct scrub *scrub_new(struct store *store) OWNED_BY(scrub_free);

/* Change. Stop: no further slice is begun. Tick: called every second. */
void scrub_stop(struct scrub *scrub);
void scrub_tick(void *scrub);

/* Look: the rows found by this pass or by the last one, whichever has more. */
size_t scrub_count(const struct scrub *scrub);
