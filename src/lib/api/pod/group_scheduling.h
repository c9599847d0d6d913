/* SPDX-License-Identifier: Apache-2.0 */
/* group_scheduling.h - how the pods of a group are placed together, as a
 * PodGroup and a Job say it
 *
 * Thread:  any; plain data.
 * Source:  k8s.io/api scheduling/v1beta1, Kubernetes 1.37.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/record.h"

struct causes;
struct json;

struct gang_policy {
    int64_t min_count; /* at least 1; of a Job, 0: its parallelism */
};

struct group_policy {
    const struct gang_policy *gang; /* NULL: basic, each pod by itself */
};

/* At most that many leaves of the topology, for that time at most; NULL: any number. */
struct switch_limit {
    int64_t most;
    const int64_t *wait_s; /* NULL: as long as the controller lets jobs wait */
};

/* Kiln's. */
extern const struct record switch_limit_record;

/* The values of schedulingPolicy, schedulingConstraints, disruptionMode, and of
 * each of resourceClaims.
 */
extern const struct record group_policy_record;
extern const struct record group_constraints_record;
extern const struct record disruption_mode_record;
extern const struct record group_claim_record;

/* Checks these members of `spec`; with needs_count, a gang must have its minCount. */
void group_scheduling_check(struct causes *c, const struct json *spec, bool needs_count);

/* Warns of those that are stored, but that no code acts on yet. */
void group_scheduling_warn(struct causes *c, const struct json *spec);
