/* SPDX-License-Identifier: Apache-2.0 */
/* announcer.h - Events of what a loop or an agent does with objects, for users
 *
 * Best effort: so many a second, and so many under way; what is more than that
 * is dropped, what only tells of a step first. What is said of an object again
 * is the same Event with a count. `host` is where it happened, or NULL.
 *
 * Owns:    the calls under way, and what was said last.
 * Thread:  that of the client.
 * Source:  client-go tools/record of 1.32 (aggregation).
 */
#pragma once

#include "lib/base/macro.h"

struct announcer;
struct client;
struct clock;
struct object;

enum announcement_kind {
    ANNOUNCE_STEP, /* Normal; the first to be dropped */
    ANNOUNCE_NORMAL,
    ANNOUNCE_WARNING,
};

/* Life. Calls under way are cancelled. */
void announcer_free(struct announcer *a);
struct announcer *announcer_new(struct client *client,
                                struct clock *clock,
                                const char *component,
                                const char *host) OWNED_BY(announcer_free);
DEFINE_CLEANUP(struct announcer, announcer_free)

/* Say: of that object, one word for programs and a sentence for people. */
void announcer_say(struct announcer *a,
                   const struct object *object,
                   enum announcement_kind kind,
                   const char *reason,
                   const char *message);
