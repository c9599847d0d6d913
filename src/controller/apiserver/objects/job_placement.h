/* SPDX-License-Identifier: Apache-2.0 */
/* job_placement.h - whether a Job has pods on nodes, and whether their agents
 * understand what it is told
 *
 * Found by indexes: a Job of any size costs no look at its pods, unless agents of
 * a former release are there and one of its nodes might be theirs.
 *
 * Thread: the loop's.
 */
#pragma once

struct apiserver;
struct object;

/* Of its pods that have a node and have not ended, in the pending state. */
struct job_placement {
    const char *node;      /* of one of them; NULL: there is none */
    const char *old_agent; /* of theirs, which lacks the feature; or NULL */
};

/* Feature: NODE_FEATURE_*, or NULL where it does not matter. Borrowed until the
 * store changes.
 */
struct job_placement job_placement_find(const struct apiserver *server,
                                        const struct object *job,
                                        const char *feature);
