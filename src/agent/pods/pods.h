/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h - the pods of this node: those that the API has bound to it, and those
 * that are still here
 *
 * Follows the API by an informer. The cores and devices of an arriving pod must
 * not overlap those of the pods that run already; then its run begins. At the
 * start, the runs that an earlier agent left on the disk are resumed first,
 * with or without a controller.
 *
 * Owns:    the runs and the blobs; borrows the agent's context.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct agent_context;
struct arena;
struct json;
struct object;
struct pods;

/* Life. pods_resume resumes the pods on the disk; pods_start begins to follow
 * the API. Freeing leaves running pods to their shepherds. `left` is called
 * when a run is over.
 */
void pods_free(struct pods *pods);
struct pods *pods_new(const struct agent_context *agent, void (*left)(void *context), void *context)
    OWNED_BY(pods_free);
DEFINE_CLEANUP(struct pods, pods_free)
void pods_resume(struct pods *pods);
void pods_start(struct pods *pods);

/* The controller has acknowledged a heartbeat that was sent at that
 * CLOCK_BOOTTIME.
 */
void pods_note_heard(struct pods *pods, int64_t heard_us);

/* The controller answers again: pending reports are sent, and the watch is
 * opened again, within that time instead of at the next retry.
 */
void pods_retry_soon(struct pods *pods, int64_t within_ms);

/* Pods that the API has forgotten without a deletion continue until this call.
 * Those whose known revision the API's store has lost become orphans, the
 * others are ended. True when there are new orphans. pods_end_orphans ends
 * those whose uids are in the text.
 */
typedef bool pods_is_lost_fn(int64_t revision, void *context);
bool pods_resolve_forgotten(struct pods *pods, pods_is_lost_fn *is_lost, void *context);
void pods_end_orphans(struct pods *pods, const char *uids);

/* The node's topology has changed: checks whether pods have lost resources. */
void pods_note_topology(struct pods *pods);

/* The API has forgotten the pod: whether nothing of the pod is here, or the API has
 * the pod again, and counts it. Then the pod is not started any more, although the
 * watch may lag behind.
 */
bool pods_confirm_gone(struct pods *pods, const char *uid);

/* pods_find returns the API's object of a pod of this node, also of a
 * finished one, or NULL; borrowed until the next change. pods_count_running
 * counts the runs that hold cores.
 */
const struct object *pods_find(const struct pods *pods, const char *namespace, const char *name);
size_t pods_count_running(const struct pods *pods);

/* Whether a pod that has a run here was last seen at a revision between the two.
 */
bool pods_holds_revision(const struct pods *pods, int64_t after, int64_t before);

/* Calls `visit` for each pod that holds something here that nobody else counts.
 */
void pods_visit_retained(const struct pods *pods,
                         void (*visit)(const struct object *pod, void *context), void *context);

/* The pods that were bound to this node and are not over for the API (pod_arrivals.c):
 * namespace, name, uid, revision, Job and allocation of each.
 */
struct json *pods_list_held(const struct pods *pods, struct arena *arena);

/* The same of the pods that have ended here, if the API's store has lost their last
 * known revision.
 */
struct json *pods_list_ended(const struct pods *pods, struct arena *arena, pods_is_lost_fn *is_lost,
                             void *context);

/* Calls `visit` for each pod whose process runs; borrowed for the call. */
struct running_pod;
typedef void pods_visit_fn(const struct running_pod *running, void *context);
void pods_visit_running(const struct pods *pods, pods_visit_fn *visit, void *context);

/* pods_find_running: 1 and the pod; 0 and no more than the object if its process is about
 * to be started; -ENOENT.
 * pods_has: a run of the pod is here, also an ended one; pods_get: its object, or NULL,
 * borrowed until the next change. pods_find_of_group: the uid of
 * the pod of a group ("NAMESPACE/NAME") that runs here, or NULL. pods_has_of_user: whether a run of
 * a pod of that user is here, also an ended one.
 */
int pods_find_running(const struct pods *pods, const char *uid, struct running_pod *ret_running);
const char *pods_find_of_group(const struct pods *pods, const char *group);
bool pods_has(const struct pods *pods, const char *uid);
bool pods_has_of_user(const struct pods *pods, uid_t user);
const struct object *pods_get(const struct pods *pods, const char *uid);
