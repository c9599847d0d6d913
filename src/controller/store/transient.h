/* SPDX-License-Identifier: Apache-2.0 */
/* transient.h - the store's part of transient objects (events): whose they are, their
 * removal when they expire, and those of the leader before
 *
 * Thread:  the loop's.
 */
#pragma once

#include "controller/store/expiry.h"

struct engine;
struct past_events;
struct store;

struct expiry *transient_new_expiry(struct store *store) OWNED_BY(expiry_free);

/* Reads those of the leader before from the engine, while the store is used. */
struct past_events *transient_read_past(struct store *store, struct engine *engine TAKES);
