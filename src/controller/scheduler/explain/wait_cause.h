/* SPDX-License-Identifier: Apache-2.0 */
/* wait_cause.h - the one cause, out of all that a failed cycle found
 *
 * A node that is open and large enough, but in use, matters more than one that
 * is closed; that one more than one that is too small; and that one more than
 * one that the pod does not ask for. Among equals the reason of most nodes is
 * reported. The texts are made by lib/api/job (job_wait.h).
 *
 * The cost is that of the diagnosis's reasons, which are few, and of at most
 * `scan_most` nodes; a cause that would take more to prove is not claimed.
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_reason.h"

struct cache;
struct diagnosis;
struct diagnosis_counts;
struct shortage;
struct strbuf;
struct string_ids;

struct wait_cause_facts {
    const struct shortage *shortage; /* of the pod and its cycle */
    const struct diagnosis *diagnosis;
    const struct diagnosis_counts *counts;
    const struct string_ids *reasons;
    const struct cache *cache;
    const char *error;  /* of the attempt; or NULL */
    unsigned scan_most; /* nodes that are checked at most */
    int64_t now_us;     /* on the real clock */
};

struct wait_cause {
    enum job_reason reason;
    bool is_for_room; /* that ends of running pods may give */
};

/* Whether the ends of running pods may end a cause with that code. */
bool wait_cause_is_for_room(const char *code);

struct wait_cause wait_cause_find(const struct wait_cause_facts *facts, struct strbuf *words);
