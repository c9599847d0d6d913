/* SPDX-License-Identifier: Apache-2.0 */
/* site_limits.h - the `limits:` of controller.yaml: how much of the controller
 * one user may use, and the most that a job may ask for
 *
 * Plain data, a part of the policy: a reload replaces it on the loop's thread.
 * 0 means no limit, or no default.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdint.h>

struct limits {
    struct {
        int64_t objects; /* not finished, and not created for another object of
                          * the user
                          */
        int64_t nodes;   /* of rootless agents */
        int64_t pods;    /* that the unfinished jobs may have at once */
        int64_t bytes;   /* of all of the user's objects, scripts and environments
                        */
        int64_t connections;
        int64_t watches;
        int64_t log_readers;
        int64_t requests_per_second;
        int64_t questions_per_second; /* pods/NAME/why and jobs/NAME/why */
    } per_user;
    int64_t maximum_time_us;    /* of a pod's activeDeadlineSeconds */
    int64_t maximum_grace_us;   /* of a pod's terminationGracePeriodSeconds */
    int64_t maximum_array_size; /* one more than the largest task id */
    int64_t maximum_requeues;   /* of a job, by the system; 0: any number */
    int64_t pids_per_pod;       /* default and maximum */
    int64_t default_memory;     /* bytes, for a pod that asks for no memory */
};
