/* SPDX-License-Identifier: Apache-2.0 */
/* past_events.h - reads the events of the controller that led before, while the store is
 * already used
 *
 * Called by:  store.c.
 * Thread:     the loop's; a thread of its own reads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct engine;
struct event_writer;
struct kind;
struct loop;
struct object;
struct past_events;

/* Last_row: what comes after it was written by this controller. Kind: that of the name in
 * the database, or NULL; any thread. Place: takes no reference; false: it is not needed.
 * Rows that are not needed are dropped by the writer of events.
 */
struct past_events_settings {
    struct loop *loop;
    struct event_writer *events;
    int64_t last_row;
    const struct kind *(*kind)(const char *name, void *context);
    bool (*place)(int64_t row, const struct object *object, void *context);
    void *context;
};

/* Life. New takes the engine, which nothing else uses. Stop: what is being read is given
 * up soon. Free waits for that.
 */
void past_events_free(struct past_events *p);
struct past_events *past_events_new(const struct past_events_settings *settings,
                                    struct engine *engine TAKES) OWNED_BY(past_events_free);
void past_events_stop(struct past_events *p);

/* All are in memory, or those that are not never will be. */
bool past_events_are_read(const struct past_events *p);
