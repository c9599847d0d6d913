/* SPDX-License-Identifier: Apache-2.0 */
/* job_placement.h - whether a Job has pods on nodes, what they make of its
 * state, and whether the agents there understand a change
 *
 * Indexes answer this: the cost does not grow with the number of pods, unless
 * there are agents of an earlier release and one of the Job's nodes may have
 * such an agent.
 *
 * Thread:  the loop's.
 */
#pragma once

#include "lib/api/job/job_state.h"

struct apiserver;
struct object;

/* About pods that have a node and have not ended, in the pending state. */
struct job_placement {
    const char *node;      /* of one of the pods; NULL: there is none */
    const char *old_agent; /* a node of one whose agent lacks the feature; or
                            * NULL
                            */
};

/* `feature` is a NODE_FEATURE_*, or NULL when the agents do not matter. The
 * result is borrowed until the store changes.
 */
struct job_placement job_placement_find(const struct apiserver *server, const struct object *job,
                                        const char *feature);

/* The present state of the Job. Its status is written up to a second after its
 * pods have changed, so a job that waits by its status may run: then its pods
 * decide. Examines only a few of the pods.
 */
enum job_state job_placement_state(const struct apiserver *server, const struct object *job);
