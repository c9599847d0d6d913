/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h - the pods of this node: those the API has bound to it, and those
 * that are still here
 *
 * Follows the API by an informer. A pod that arrives is checked against what
 * runs already (their cores and devices must be disjoint) and begins its stay;
 * at start the runs an earlier agent left on the disk are taken up first,
 * with or without a controller.
 *
 * Owns:    the runs and the blobs; borrows the agent's context.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct agent_context;
struct object;
struct pods;

/* Life. Resume takes up the pods on the disk; start begins to follow the API.
 * Freeing leaves running pods to their shepherds. `left`: a run is over.
 */
void pods_free(struct pods *pods);
struct pods *pods_new(const struct agent_context *agent,
                      void (*left)(void *context),
                      void *context) OWNED_BY(pods_free);
DEFINE_CLEANUP(struct pods, pods_free)
void pods_resume(struct pods *pods);
void pods_start(struct pods *pods);

/* The controller has acknowledged what was sent at that CLOCK_BOOTTIME. */
void pods_note_heard(struct pods *pods, int64_t heard_us);

/* The controller answers again: what it could not be told it is told now, and
 * what it has for this node is asked for within so long, without waiting for
 * the time of the next try.
 */
void pods_retry_soon(struct pods *pods, int64_t within_ms);

/* Pods that the API has forgotten without a deletion go on until this: those
 * of which what is known here is of a revision that its store has lost are
 * orphans from now on, the others end. True when there are new orphans.
 * End_orphans: those whose uids are in the text.
 */
typedef bool pods_is_lost_fn(int64_t revision, void *context);
bool pods_resolve_forgotten(struct pods *pods,
                            pods_is_lost_fn *is_lost,
                            void *context);
void pods_end_orphans(struct pods *pods, const char *uids);

/* The node's topology is another now: pods that lost something are told. */
void pods_note_topology(struct pods *pods);

/* The API has forgotten the pod: whether nothing of it is here. Then it is not
 * started any more, either, though what is known of it may lag behind.
 */
bool pods_confirm_gone(struct pods *pods, const char *uid);

/* Look. Find: what the API has of a pod of this node, finished ones too, or
 * NULL; borrowed until the next change. Count: runs that hold cores.
 */
const struct object *
pods_find(const struct pods *pods, const char *namespace, const char *name);
size_t pods_count_running(const struct pods *pods);

/* Calls for each pod of which something is here that nobody else counts. */
void pods_visit_retained(const struct pods *pods,
                         void (*visit)(const struct object *pod, void *context),
                         void *context);

/* Calls for each pod whose process runs; borrowed for the call. */
struct running_pod;
typedef void pods_visit_fn(const struct running_pod *running, void *context);
void pods_visit_running(const struct pods *pods,
                        pods_visit_fn *visit,
                        void *context);
