/* SPDX-License-Identifier: Apache-2.0 */
/* lost_pods.h - pods of Jobs that nodes have, or had until they ended, and that
 * the store has lost
 *
 * The state directory was put back. The Job of such a pod exists, and would have
 * a pod of that name made anew: a task of an array, a job that was held, or kept
 * back by a quota. That pod is then the one that the node has, so that it does
 * not run twice. Nodes report their pods after each start, so the list is not
 * stored. It is empty if no state was ever put back.
 *
 * Owns:    copies of what was noted.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct lost_pods;

struct lost_pod {
    const char *uid;
    const char *job_uid;    /* of the Job that controls it */
    const char *node;       /* its node */
    const char *allocation; /* there, as JSON */
};

/* Life */
void lost_pods_free(struct lost_pods *lost);
struct lost_pods *lost_pods_new(void) OWNED_BY(lost_pods_free);

/* The most that is noted for one node, above what an agent says in one request: it may
 * be a user's, who can name any number of pods of an own Job.
 */
#define LOST_PODS_NODE_BYTES (4u << 20)

/* Replaces what was noted of a pod of that name before. Returns false, and notes
 * nothing, when the node has said too much.
 */
bool lost_pods_note(struct lost_pods *lost, const char *namespace, const char *name,
                    const struct lost_pod *pod);

/* Find: the pod of that name that the Job had, or NULL; borrowed. */
bool lost_pods_are_none(const struct lost_pods *lost);
const struct lost_pod *lost_pods_find(const struct lost_pods *lost, const char *namespace,
                                      const char *name, const char *job_uid);
