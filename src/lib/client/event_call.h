/* SPDX-License-Identifier: Apache-2.0 */
/* event_call.h - API calls that write Events
 *
 * Called by: event_recorder.c, the scheduler's recorder.
 * Thread:    that of the client.
 */
#pragma once

#include <stdint.h>

#include "lib/client/client.h"

struct event;
struct random_source;

/* Makes the name of a new Event about the object named `about`. Number: random
 * and never 0; format_name makes the Event's name from it.
 */
char *event_call_make_name(struct random_source *random, const char *about);
uint64_t event_call_make_number(struct random_source *random);
char *event_call_format_name(const char *about, uint64_t number);

/* The client that is called, and the function that gets the reply. */
struct event_call_target {
    struct client *client;
    client_done_fn *done;
    void *context;
};

/* Create writes a new Event. Update writes the count, the message (NULL:
 * unchanged) and the last time of an Event that exists. The message is
 * truncated as upstream does. An Event about an object without a namespace is
 * in "default".
 */
struct client_call *event_call_create(const struct event_call_target *to,
                                      const struct event *event);
struct client_call *event_call_update(const struct event_call_target *to,
                                      const struct event *event);
