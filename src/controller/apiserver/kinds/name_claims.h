/* SPDX-License-Identifier: Apache-2.0 */
/* name_claims.h - names that another user's Jobs and CronJobs will give
 *
 * Pods of a Job, their claims, the PodGroup of each of its attempts and the Jobs of a
 * CronJob are named after it: an object that has such a name would be in the way.
 *
 * Called by:  the hooks of these kinds.
 * Thread:     the loop's.
 */
#pragma once

#include <stdbool.h>

struct name_claim;
struct request;

/* For a new pod or its volume claim; a Job; a PodGroup (kind_hooks.h). */
bool name_claims_find_of_pod(const struct request *q, const char *name,
                             struct name_claim *ret_claim);
bool name_claims_find_of_job(const struct request *q, const char *name,
                             struct name_claim *ret_claim);
bool name_claims_find_of_group(const struct request *q, const char *name,
                               struct name_claim *ret_claim);
