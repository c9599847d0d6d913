/* SPDX-License-Identifier: Apache-2.0 */
/* element_pods.h - what the pods of an array say about its elements: which have
 * started, and which cancelled ones never will
 *
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct element_ends;
struct object;
struct object_cache;
struct task_list;

/* Of one pod. Index: -1 if the pod is not of an element. Start: us since the
 * epoch; 0: the pod has not started.
 */
int64_t element_pods_index(const struct object *pod);
int64_t element_pods_start(const struct object *pod);

/* These visit all present pods of the Job with that uid. See_cancelled: an
 * element of a task in `tasks` (may be NULL) that has no pod counts as
 * cancelled, since no event will report its end.
 */
void element_pods_see_starts(const struct object_cache *cache, const char *uid,
                             struct element_ends *ends);
void element_pods_see_cancelled(const struct object_cache *cache, const char *uid,
                                const char *tasks, struct element_ends *ends);

/* When the last of these tasks started, us since the epoch; 0: no pod says. */
int64_t element_pods_last_start(const struct object_cache *cache, const char *uid,
                                const struct element_ends *ends, const struct task_list *tasks);
