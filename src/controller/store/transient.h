/* SPDX-License-Identifier: Apache-2.0 */
/* transient.h - the store's part of transient objects (events): whose they are, their
 * removal when they expire, and those of the leader before
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/store/expiry.h"

struct contents;
struct engine;
struct event_writer;
struct past_events;
struct store;
struct store_settings;

/* The parts of a store that are concerned. */
struct transient {
    struct store *store; /* for transactions */
    const struct store_settings *settings;
    struct contents *contents;
    const bool *has_failed; /* nothing is removed any more */
};

struct expiry *transient_new_expiry(struct transient *transient) OWNED_BY(expiry_free);

/* Reads those of the leader before from the engine, while the store is used: rows up to
 * that number. Rows that are not needed are dropped.
 */
struct past_events *transient_read_past(struct transient *transient, struct engine *engine TAKES,
                                        int64_t last_row, struct event_writer *events);
