/* SPDX-License-Identifier: Apache-2.0 */
/* refusal_meaning.h - the meaning of a node's refusal for the one who waits
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include "lib/api/job/job_reason.h"

/* The meaning of a reason for the pod; the best last. */
enum meaning {
    MEANS_UNWANTED,
    MEANS_TOO_LARGE,
    MEANS_WORDS, /* of another kind: volumes, an extender */
    MEANS_CLOSED,
    MEANS_OTHERS, /* pods there keep it away, or do not come near */
    MEANS_ROOM,
    MEANS_WITHHELD, /* it has room, but a Reservation has it before the end */
    MEANS_RESERVED, /* it has room, and would delay those before it */
};

struct refusal_meaning {
    enum meaning meaning;
    enum job_reason reason;
    const char *words; /* static; NULL: the amount that is short, or the text */
};

/* By the refusal's code (refusals.h). A code that is not known means words, of
 * another reason.
 */
struct refusal_meaning refusal_meaning_of(const char *code);
