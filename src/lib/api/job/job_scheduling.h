/* SPDX-License-Identifier: Apache-2.0 */
/* job_scheduling.h - a Job whose pods are placed together: spec.scheduling
 *
 * The job controller makes one PodGroup of it, and the pods name that group.
 *
 * Thread:  any; plain data.
 * Source:  k8s.io/api batch/v1 (WorkloadWithJob), Kubernetes 1.37.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/pod/group_scheduling.h"

struct causes;
struct job;
struct json;

struct job_scheduling {
    struct group_policy policy;
};

extern const struct record job_scheduling_record;

/* The most pods that are placed together. */
#define JOB_GANG_MAX 512

/* How many pods of the Job are placed together; 0: each by itself. */
int64_t job_gang_least(const struct job *job);

/* Of a Job whose attempts are whole (execution.runs): how many pods each attempt
 * has, which start, end and are started again together; 0: pods are replaced one
 * by one, as upstream does it. Runs_first: only pod 0 of each attempt runs the
 * Job's program.
 */
int64_t job_gang_size(const struct job *job);
bool job_gang_runs_first(const struct job *job);

/* Checks spec.scheduling; Change: that only minCount changes. */
void job_scheduling_check(struct causes *c, const struct json *spec);
void job_scheduling_check_change(struct causes *c, const struct json *spec, const struct json *old);
