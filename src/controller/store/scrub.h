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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct engine;
struct loop;
struct scrub;
struct serial_worker;

/* Is_idle: nothing else wants the disk now. Is_known: that row could not be read when the
 * store was opened; any thread.
 */
struct scrub_settings {
    struct loop *loop;
    struct serial_worker *reader;
    struct engine *engine;
    const char *disk; /* for messages: whose it is */
    bool (*is_idle)(void *context);
    bool (*is_known)(int64_t row, void *context);
    void *context;
};

/* Life. Free is called after the reader's worker has ended. */
void scrub_free(struct scrub *scrub);
struct scrub *scrub_new(const struct scrub_settings *settings) OWNED_BY(scrub_free);

/* Stop: no further slice is begun. Tick: called every second. */
void scrub_stop(struct scrub *scrub);
void scrub_tick(void *scrub);

/* The rows found by this pass or by the last one, whichever has more. */
size_t scrub_count(const struct scrub *scrub);
