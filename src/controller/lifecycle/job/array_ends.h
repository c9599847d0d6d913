/* SPDX-License-Identifier: Apache-2.0 */
/* array_ends.h - the ends of an array's elements that the store has not recorded yet
 *
 * Owns:    the ends, and copies of their texts.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/list.h"

/* How a pod ended. AGAIN: the element waits for its next pod. */
enum array_outcome { ARRAY_DONE, ARRAY_FAILED, ARRAY_CANCELLED, ARRAY_AGAIN };

/* An end to be recorded in the store; the same transaction deletes the pod. */
struct array_end {
    struct list link;
    char *pod, *uid; /* NULL: the pod is gone */
    int64_t index;
    enum array_outcome outcome;
    int64_t of_attempt; /* of the pod; -1: there was no pod */
    int64_t attempt;    /* of the next pod; with the next members, for AGAIN */
    int64_t failures, ignored;
    int64_t interrupted; /* is_too_often: hold the element, which was
                          * interrupted too often */
    bool is_too_often;
    int64_t since_us; /* monotonic; 0: new; -1: send at once */
    bool is_sent;
};

struct array_ends {
    struct list list; /* of struct array_end, in the order of their ends */
    size_t count;
    bool must_settle; /* send them at once */
};

/* Life. */
void array_ends_init(struct array_ends *ends);
void array_ends_fini(struct array_ends *ends);

/* Add copies `pod` and `uid`, which may be NULL. */
struct array_end *array_ends_add(struct array_ends *ends, const char *pod, const char *uid,
                                 int64_t index, enum array_outcome outcome);
void array_ends_drop(struct array_ends *ends, struct array_end *end);
