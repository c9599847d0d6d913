/* SPDX-License-Identifier: Apache-2.0 */
/* user_counts.h - how much each user has of the controller now
 *
 * Objects and bytes are counted from the load of the store at the start, and
 * with each change of its pending head; nothing is ever scanned. The counts
 * limit nobody themselves: user_limits.h and the admission rules do.
 *
 * Called by:  controller.c (as the store's `moved`), the apiserver.
 * Thread:     the loop's.
 * Invariant:  every pending object is counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct clock;
struct object;
struct user_counts;

/* A user's open streams; also questions until the scheduler has answered. */
enum user_stream {
    USER_WATCH,
    USER_LOG_READER,
    USER_ASKING,
    N_USER_STREAMS,
};

/* Requests, and those that the scheduler answers: both are limited per second.
 */
enum user_allowance {
    USER_REQUEST,
    USER_QUESTION,
    N_USER_ALLOWANCES,
};

struct user_count {
    int64_t objects;
    int64_t bytes;
    int64_t nodes; /* of rootless agents */
    int64_t pods;  /* that the unfinished jobs may have at once */
    int64_t streams[N_USER_STREAMS];
};

/* Life */
void user_counts_free(struct user_counts *counts);
struct user_counts *user_counts_new(struct clock *clock) OWNED_BY(user_counts_free);

/* user_counts_moved: an object changed, was created (no `before`) or
 * was removed (no `after`).
 */
void user_counts_moved(struct user_counts *counts, const struct object *before,
                       const struct object *after);
void user_counts_begin_stream(struct user_counts *counts, uid_t uid, enum user_stream stream);
void user_counts_end_stream(struct user_counts *counts, uid_t uid, enum user_stream stream);

/* Takes one from the user's allowance: `per_second`, and twice as many at once
 * after a pause. Returns false when none is left.
 */
bool user_counts_take(struct user_counts *counts, uid_t uid, enum user_allowance allowance,
                      int64_t per_second);

/* Takes `count` more, for work that is done already: the user's next requests
 * wait.
 */
void user_counts_charge(struct user_counts *counts, uid_t uid, enum user_allowance allowance,
                        int64_t per_second, unsigned count);

/* Returns zeros for a user who has nothing. */
struct user_count user_counts_get(const struct user_counts *counts, uid_t uid);

/* For the hooks of kinds: what every object counts, false when it belongs to no
 * user; and what an object counts that Kiln made for another one.
 */
bool user_counts_measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count);
void user_counts_measure_derived(const struct object *object, struct user_count *count);
