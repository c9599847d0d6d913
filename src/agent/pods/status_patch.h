/* SPDX-License-Identifier: Apache-2.0 */
/* status_patch.h - what the API is told of a pod: its status, as strategic
 * merge patches: what others wrote into it meanwhile stays
 *
 * Pure. Each answers the body of a patch of pods/NAME/status, with the uid of
 * the pod so that a later pod of the same name is never meant.
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct exit_record;
struct json;
struct object;
struct observation;

/* A fault of the pod's allocation: the condition AllocationBroken. Without a
 * reason nothing is.
 */
struct allocation_fault {
    const char *reason;
    const char *message;
};

/* Since when it stands still (0: it does not), how long it has before, by whose
 * wish and for whom, or NULL.
 */
struct frozen_state {
    int64_t at_us;
    int64_t before_us;
    const char *by;
    const char *yields_to;
    bool is_refused; /* it cannot stand still */
};

/* A job that hangs before its program runs: `for_what`, which may be NULL. */
#define REASON_START_BLOCKED "StartBlocked"
struct json *status_patch_make_waiting(struct arena *arena,
                                       const struct object *pod,
                                       const char *for_what);

struct status_patch_running {
    const char *host_address; /* or NULL */
    const char *boot_id;
    int64_t started_at_us; /* real time */
    const char *cpus;      /* as observed, or NULL */
    const char *memory_nodes;
    const struct observation *seen; /* later, of all its processes; or NULL */
    int64_t seen_at_us;
    struct allocation_fault broken;
    struct frozen_state frozen;
    int64_t now_us;
};
struct json *
status_patch_make_running(struct arena *arena,
                          const struct object *pod,
                          const struct status_patch_running *running);

/* How it ended. `reason` overrides the one from the ending: DeadlineExceeded,
 * or NULL. `is_disruption`: not the pod's own fault (its node was restarted).
 */
struct status_patch_end {
    const struct exit_record *exit_record; /* NULL: it never got that far */
    const char *reason;
    const char *message;
    bool is_disruption;
    const struct observation *seen; /* last, while it ran; or NULL */
    int64_t seen_at_us;
    struct allocation_fault broken;
    struct frozen_state frozen;
    int64_t now_us;
    const char *host_address;
    const char *boot_id;
};
struct json *status_patch_make_end(struct arena *arena,
                                   const struct object *pod,
                                   const struct status_patch_end *end);
