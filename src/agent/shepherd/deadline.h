/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - when a running pod is told to stop, and made to
 *
 * Pure: from the limits and the time to what is due now and when to look
 * again. Two reasons end a pod before its own time: its time limit and its
 * deletion; the earlier one counts. Each is SIGTERM, the grace period, SIGKILL;
 * the user's warning signal goes before the time limit.
 *
 * Times are microseconds of one monotonic clock.
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DEADLINE_NEVER INT64_MAX

struct deadline {
    int64_t started_us;
    int64_t limit_us;  /* after the start; DEADLINE_NEVER: none */
    int64_t warn_us;   /* before the limit; 0: no warning */
    int64_t grace_us;  /* between SIGTERM and SIGKILL */
    int64_t delete_us; /* when deletion was asked for; DEADLINE_NEVER */
    int64_t delete_grace_us;
    bool warned, terminated, killed; /* what has been done */
    bool is_frozen;                  /* it stands still, and its limit waits */
    int64_t frozen_at_us;            /* since when */
};

enum deadline_action {
    DEADLINE_WAIT,
    DEADLINE_WARN,
    DEADLINE_TERMINATE,
    DEADLINE_KILL,
};

/* The action due at `now`, one at a time: do it, mark it, ask again. With WAIT,
 * ret_next is when to ask again.
 */
enum deadline_action
deadline_next(const struct deadline *d, int64_t now_us, int64_t *ret_next_us);

/* Another limit, after the start. One that has passed ends the pod from now on,
 * with its grace; one that comes after it was told to stop changes nothing.
 */
void deadline_set_limit(struct deadline *d, int64_t limit_us, int64_t now_us);

/* Frozen it comes no nearer to its limit: what the freeze took is added to the
 * start. Doing either twice changes nothing. Thaw answers how long it was.
 */
void deadline_freeze(struct deadline *d, int64_t now_us);
int64_t deadline_thaw(struct deadline *d, int64_t now_us);

/* The end of a grace that is the job's own, when what goes before SIGTERM takes the
 * rest: five seconds, or half of a shorter grace.
 */
int64_t deadline_last_us(int64_t grace_us);

/* Whether the time limit (and not the deletion) is what ended it. */
bool deadline_is_exceeded(const struct deadline *d, int64_t now_us);
