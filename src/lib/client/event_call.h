/* SPDX-License-Identifier: Apache-2.0 */
/* event_call.h - Events as calls of the API
 *
 * Called by:  event_recorder.c, the scheduler's recorder.
 * Thread:     that of the client.
 */
#pragma once

#include <stdint.h>

#include "lib/client/client.h"

struct event;
struct random_source;

/* The name of a new Event about an object of that name. Number: a random one, not
 * 0, from which its name can be formatted again.
 */
char *event_call_make_name(struct random_source *random, const char *about);
uint64_t event_call_make_number(struct random_source *random);
char *event_call_format_name(const char *about, uint64_t number);

/* Where the call goes, and its answer. */
struct event_call_target {
    struct client *client;
    client_done_fn *done;
    void *context;
};

/* A new Event; and the same again, of which the count, the message (NULL: as it
 * was) and the last time are written. The message is cut where upstream cuts
 * it. An Event about an object in no namespace is in "default".
 */
struct client_call *event_call_create(const struct event_call_target *to,
                                      const struct event *event);
struct client_call *event_call_update(const struct event_call_target *to,
                                      const struct event *event);
