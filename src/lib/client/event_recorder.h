/* SPDX-License-Identifier: Apache-2.0 */
/* event_recorder.h - Events of what a loop or an agent does with objects, for
 * users
 *
 * Best effort: so many a second, and so many under way. It drops those beyond
 * that, beginning with Events that only tell of a step. A message that is
 * recorded of an object again is the same Event with a count. `host` is where
 * it happened, or NULL.
 *
 * Owns:    the calls under way, and what was said last.
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
struct event_recorder *event_recorder_new(struct client *client,
                                          struct clock *clock,
                                          const char *component,
                                          const char *host)
    OWNED_BY(event_recorder_free);
DEFINE_CLEANUP(struct event_recorder, event_recorder_free)

/* Say: of that object, one word for programs and a sentence for people. */
void event_recorder_record(struct event_recorder *a,
                           const struct object *object,
                           enum recorded_event_kind kind,
                           const char *reason,
                           const char *message);
