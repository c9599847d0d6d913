/* SPDX-License-Identifier: Apache-2.0 */
/* status_patch.h - a pod's status for the API as strategic merge patches, which
 * keep what others wrote into it meanwhile
 *
 * Pure. Each function returns the body of a patch of pods/NAME/status, with the
 * pod's uid, so that it cannot affect a later pod of the same name.
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct exit_record;
struct gpu_use;
struct json;
struct object;
struct observation;

/* A fault of the pod's allocation: the condition AllocationBroken. A NULL
 * reason means no fault.
 */
struct allocation_fault {
    const char *reason;
    const char *message;
};

/* The start of the present freeze (0: not frozen), the total time of former
 * freezes, who asked for it, and the pod it yields to, or NULL.
 */
struct frozen_state {
    int64_t at_us;
    int64_t before_us;
    const char *by;
    const char *yields_to;
    bool is_refused; /* it cannot be frozen */
};

/* A job that blocks before its program runs: `for_what` tells what it waits
 * for, and may be NULL.
 */
struct json *status_patch_make_waiting(struct arena *arena, const struct object *pod,
                                       const char *for_what);

/* A member of a gang that is prepared and waits for the others. */
struct json *status_patch_make_prepared(struct arena *arena, const struct object *pod,
                                        int64_t now_us);

/* The agent ends the pod; a NULL reason: it does not. */
struct ending_state {
    const char *reason;
    int64_t since_us; /* wall clock */
};

struct status_patch_running {
    const char *host_address; /* or NULL */
    const char *boot_id;
    int64_t started_at_us; /* wall clock */
    const char *cpus;      /* as observed, or NULL */
    const char *memory_nodes;
    /* of all its processes; NULL: not observed yet */
    const struct observation *seen;
    int64_t seen_at_us;
    struct allocation_fault broken;
    struct frozen_state frozen;
    struct ending_state ending;
    int64_t now_us;
};
struct json *status_patch_make_running(struct arena *arena, const struct object *pod,
                                       const struct status_patch_running *running);

/* How the pod ended. `reason` overrides the one of the exit record
 * (DeadlineExceeded), or is NULL. `is_disruption`: the pod did not cause its
 * end (its node was restarted).
 */
struct status_patch_end {
    const struct exit_record *exit_record; /* NULL: it never started */
    const char *reason;
    const char *message;
    bool is_disruption;
    const struct observation *seen; /* the last one while it ran; or NULL */
    int64_t seen_at_us;
    struct allocation_fault broken;
    struct frozen_state frozen;
    const struct gpu_use *gpu_use; /* or NULL */
    bool was_ending;               /* as reported while it ran */
    int64_t now_us;
    const char *host_address;
    const char *boot_id;
};
struct json *status_patch_make_end(struct arena *arena, const struct object *pod,
                                   const struct status_patch_end *end);
