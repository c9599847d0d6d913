/* SPDX-License-Identifier: Apache-2.0 */
/* refusal_meaning.h - what a node's refusal means for the owner of a waiting
 * pod
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include "lib/api/job/job_reason.h"

/* The meaning of a node's reason for the pod; the best last. */
enum meaning {
    MEANS_UNWANTED,
    MEANS_TOO_LARGE,
    MEANS_WORDS, /* another reason: volumes, an extender */
    MEANS_CLOSED,
    MEANS_OTHERS, /* affinity to pods, or anti-affinity */
    MEANS_ROOM,
    MEANS_WITHHELD, /* has room; a Reservation begins too soon */
    MEANS_RESERVED, /* has room; would delay pods before it */
};

struct refusal_meaning {
    enum meaning meaning;
    enum job_reason reason;
    const char *words; /* static; NULL: the amount, or the node's text */
};

/* By the code of the refusal (refusals.h). An unknown code means MEANS_WORDS
 * with another reason.
 */
struct refusal_meaning refusal_meaning_of(const char *code);
