/* SPDX-License-Identifier: Apache-2.0 */
/* event_recorder.h - records Events about objects for users
 *
 * Best effort: the rate and the number of calls under way are limited, and
 * Events beyond the limits are dropped, RECORD_STEP first. The same message
 * about the same object is one Event with a count. `host` is where it happened,
 * or NULL.
 *
 * Owns:    the calls under way, and the Events recorded recently.
 * Thread:  that of the client.
 * Source:  client-go tools/record of 1.32 (aggregation).
 */
#pragma once

#include "lib/base/macro.h"

struct event_recorder;
struct client;
struct clock;
struct object;

enum recorded_event_kind {
    RECORD_STEP, /* Normal; the first to be dropped */
    RECORD_NORMAL,
    RECORD_WARNING,
};

/* Life. Calls under way are cancelled. */
void event_recorder_free(struct event_recorder *a);
struct event_recorder *event_recorder_new(struct client *client, struct clock *clock,
                                          const char *component, const char *host)
    OWNED_BY(event_recorder_free);
DEFINE_CLEANUP(struct event_recorder, event_recorder_free)

/* Record: `reason` is one word for programs, `message` a sentence for people.
 */
void event_recorder_record(struct event_recorder *a, const struct object *object,
                           enum recorded_event_kind kind, const char *reason, const char *message);
