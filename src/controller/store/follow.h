/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h - opens the engine of a store, and meanwhile keeps the objects of the
 * controller that leads
 *
 * Thread:  the one that opens the store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct contents;
struct engine;
struct engine_counters;
struct engine_waits;
struct error;
struct store_location;

struct follow_settings {
    const struct store_location *location;
    bool must_exist;
    const struct engine_waits *waits; /* or NULL */
    int64_t pause_us;                 /* until what has changed is read again */
    struct contents *contents;
};

/* The contents then have all objects, whether they could be followed or not. After an
 * error the engine may be open already (not NULL). Was_warm: they had been followed.
 */
int follow_open(const struct follow_settings *settings, struct engine **ret_engine,
                struct engine_counters *ret_counters, bool *ret_was_warm, struct error *err);
