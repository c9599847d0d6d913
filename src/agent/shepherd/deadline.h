/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.h - when a running pod gets SIGTERM and SIGKILL
 *
 * Pure: computes from the limits and the time which action is due now and when
 *       to ask again. Two reasons end a pod early: its time limit and its
 *       deletion; the earlier one counts. Each is SIGTERM, the grace period,
 *       SIGKILL; the user's warning signal goes before the time limit.
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
    int64_t delete_us; /* time of the deletion; DEADLINE_NEVER: none */
    int64_t delete_grace_us;
    bool warned, terminated, killed; /* actions done */
    bool is_frozen;                  /* the pod is frozen, and its limit does not advance */
    int64_t frozen_at_us;            /* start of the freeze */
};

enum deadline_action {
    DEADLINE_WAIT,
    DEADLINE_WARN,
    DEADLINE_TERMINATE,
    DEADLINE_KILL,
};

/* Returns one action that is due at `now`: do it, mark it, and ask again. With
 * DEADLINE_WAIT, *ret_next_us is when to ask again.
 */
enum deadline_action deadline_next(const struct deadline *d, int64_t now_us, int64_t *ret_next_us);

/* Sets another limit, relative to the start. A limit that has passed ends the
 * pod from now on, with its grace period; a limit that is set after SIGTERM has
 * no effect.
 */
void deadline_set_limit(struct deadline *d, int64_t limit_us, int64_t now_us);

/* A frozen pod does not approach its limit: deadline_thaw adds the duration of
 * the freeze to the start, and returns it. Repeating either call has no effect.
 */
void deadline_freeze(struct deadline *d, int64_t now_us);
int64_t deadline_thaw(struct deadline *d, int64_t now_us);

/* The part of a grace period that remains between SIGTERM and SIGKILL when a
 * warning or a checkpoint command takes the rest: five seconds, or half of a
 * shorter grace period.
 */
int64_t deadline_last_us(int64_t grace_us);

/* Whether the time limit (and not the deletion) has ended the pod. */
bool deadline_is_exceeded(const struct deadline *d, int64_t now_us);
