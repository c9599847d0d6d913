/* SPDX-License-Identifier: Apache-2.0 */
/* job_plan.h - what a Job needs next, from the Job and the counts of its pods
 *
 * A pure function: no clock, no client, no state. It follows upstream's
 * semantics of completions, parallelism, completionMode, suspend,
 * activeDeadlineSeconds, podReplacementPolicy, and of the limits and policies
 * of failure and success. Kiln adds begin times, another attempt when
 * ANNOTATION_REQUEUE_BEFORE asks for one, and pods lost with their node, which
 * are replaced when spec.requeue is set.
 *
 * When a Job is suspended or requeued, its pods are ended; it goes on when they
 * are gone, and not before its status has recorded that.
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

/* A pod to be created. */
struct job_plan_pod {
    int64_t index;
    int64_t attempt;
    int64_t failures;       /* earlier failures of the index, which the pod gets */
    int64_t ignored;        /* with backoffLimitPerIndex; ignored ones likewise */
    int64_t eligible_at_us; /* if the Job waited for others; 0: as the Job
                             * says */
};

struct job_plan {
    struct job_plan_pod *create; /* in the arena */
    unsigned n_create;
    bool delete_active;     /* the job has ended, or is suspended or requeued */
    bool end_rest;          /* of an attempt whose first pods are ending: end the
                             * others */
    bool excuse_rest;       /* ... and their ends are no failures */
    int64_t n_remove;       /* how many live pods to remove */
    int64_t n_withdraw;     /* arrays: how many pods without a node to
                             * withdraw */
    bool hold_waiting;      /* mark pods without a node as held */
    bool release_waiting;   /* remove that mark */
    bool mark_placed;       /* the freeze marks of pods with a node do not
                             * match the Job: update them */
    int64_t wake_after_us;  /* sync again then; 0: when something changes */
    struct json *status;    /* a merge patch's "status", or NULL: no change */
    bool status_is_urgent;  /* more than counts: must not be delayed */
    struct job_event event; /* to record once the status is written */
};

/* At most `limit` pods are planned in one call. `now_us` is real time. */
void job_plan(const struct job *job, const struct job_pod_counts *counts, int64_t now_us,
              unsigned limit, struct arena *arena, struct job_plan *ret_plan);
