/* SPDX-License-Identifier: Apache-2.0 */
/* user_counts.h - what each user has of the controller at this moment
 *
 * Objects and bytes follow the store's pending head, one change at a time, and
 * its load at the start; nothing is ever scanned. These counts limit nobody:
 * user_limits.h and the admission rules do.
 *
 * Called by:  controller.c (as the store's `moved`), the apiserver.
 * Thread:     the loop's.
 * Invariant:  every object is counted as long as it is the pending one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct clock;
struct object;
struct user_counts;

/* A user's streams, which begin and end; also questions, until the scheduler
 * has answered.
 */
enum user_stream {
    USER_WATCH,
    USER_LOG_READER,
    USER_ASKING,
    N_USER_STREAMS,
};

/* Requests, and those of them that the scheduler answers: a user may make so
 * many a second.
 */
enum user_allowance {
    USER_REQUEST,
    USER_QUESTION,
    N_USER_ALLOWANCES,
};

struct user_count {
    int64_t objects;
    int64_t bytes;
    int64_t pods; /* that the unfinished jobs may have at once */
    int64_t streams[N_USER_STREAMS];
};

/* Life */
void user_counts_free(struct user_counts *counts);
struct user_counts *user_counts_new(struct clock *clock)
    OWNED_BY(user_counts_free);

/* Change. Moved: one object became another, came (no `before`) or went. */
void user_counts_moved(struct user_counts *counts,
                       const struct object *before,
                       const struct object *after);
void user_counts_begin_stream(struct user_counts *counts,
                              uid_t uid,
                              enum user_stream stream);
void user_counts_end_stream(struct user_counts *counts,
                            uid_t uid,
                            enum user_stream stream);

/* Takes one from what the user may ask: `per_second`, and twice that at once
 * after a rest. False when there is none left.
 */
bool user_counts_take(struct user_counts *counts,
                      uid_t uid,
                      enum user_allowance allowance,
                      int64_t per_second);

/* Takes so many more, of what was done already: those that come next wait. */
void user_counts_charge(struct user_counts *counts,
                        uid_t uid,
                        enum user_allowance allowance,
                        int64_t per_second,
                        unsigned count);

/* Look. Of a user who has nothing, zeros. */
struct user_count user_counts_get(const struct user_counts *counts, uid_t uid);

/* Measures what one object counts for: its user, whether it is one of the
 * limited objects, its bytes and its pods. False: it belongs to no user.
 */
bool user_counts_measure(const struct object *object,
                         uid_t *ret_uid,
                         struct user_count *ret_count);
