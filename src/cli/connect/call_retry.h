/* SPDX-License-Identifier: Apache-2.0 */
/* call_retry.h - repeats calls of a command line while the controller is away
 *
 * A restart of the controller takes seconds, so a command waits for it. After
 * three seconds the user gets one line, and another when it answers again. Only
 * calls that have certainly not been carried out are repeated: those whose
 * connection was refused, those that a controller has refused that may no longer
 * lead, and those that change nothing.
 *
 * Thread: that of the loop, which is the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct loop;
struct timer;

struct call_retry {
    const char *program; /* "kctl"; NULL: nothing is repeated */
    const char *server;  /* for the line; borrowed */
    int64_t
        patience_us; /* for so long, without a word; 0: until it answers, and the user is told */
    int64_t takeover_us; /* at least so long where another controller may take over */
    bool has_heads;      /* a controller answered that waits to lead */
    int64_t away_us;     /* since when, monotonic; 0: it answers */
    bool is_said;
    struct timer *timer; /* of the call that runs */
};

/* Around one attempt. Begin starts the time after which the user is told that
 * there is no answer. End: whether the call, which ended with `r`, is to be
 * repeated; it then pauses first. `is_read`: the call changes nothing.
 */
void call_retry_begin(struct call_retry *retry, struct loop *loop);
bool call_retry_end(struct call_retry *retry, int r, bool is_read, const struct error *err);

/* The result of a call that was answered: -EHOSTDOWN if another controller may
 * lead, else 0.
 */
int call_retry_of_answer(int64_t code, const char *reason);
