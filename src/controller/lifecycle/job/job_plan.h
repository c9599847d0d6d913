/* SPDX-License-Identifier: Apache-2.0 */
/* job_plan.h - what a Job needs next, from the Job and the counts of its pods
 *
 * A pure function: no clock, no client, no memory. Upstream's semantics of
 * completions, parallelism, completionMode, suspend, activeDeadlineSeconds,
 * podReplacementPolicy, and of the limits and policies of failure and success;
 * besides, begin times, another attempt when ANNOTATION_REQUEUE_BEFORE asks for
 * one, and pods lost with their node, which are replaced when spec.requeue says
 * so.
 *
 * A Job that is suspended or requeued ends its pods; it goes on when they are
 * gone, and not before its status says so.
 *
 * Thread:  any; a pure function.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/lifecycle/job/job_report.h"

struct arena;
struct job;
struct job_pod_counts;
struct json;

/* A pod to be made. */
struct job_plan_pod {
    int64_t index;
    int64_t attempt;
    int64_t failures; /* of the index before, which the pod is told where */
    int64_t ignored;  /* backoffLimitPerIndex is */
    int64_t eligible_at_us; /* of a Job that waited for others; 0: the Job's */
};

struct job_plan {
    struct job_plan_pod *create; /* in the arena */
    unsigned n_create;
    bool delete_active;     /* the job is over, suspended or requeued */
    int64_t n_remove;       /* so many of the live pods are to go */
    int64_t n_withdraw;     /* of an array, of those without a node */
    bool hold_waiting;      /* pods without a node are to be marked as held */
    bool release_waiting;   /* or not any more */
    bool mark_placed;       /* pods with a node are to stand still or to go on,
                             * as the Job says, and are not marked so */
    int64_t wake_after_us;  /* look again then; 0: when something changes */
    struct json *status;    /* a merge patch's "status", or NULL: no change */
    bool status_is_urgent;  /* more than counts: not to be put off */
    struct job_event event; /* of the status, once it is written */
};

/* At most `limit` pods are planned at a time. `now_us` is real time. */
void job_plan(const struct job *job,
              const struct job_pod_counts *counts,
              int64_t now_us,
              unsigned limit,
              struct arena *arena,
              struct job_plan *ret_plan);
