/* SPDX-License-Identifier: Apache-2.0 */
/* element_pods.h - what the pods of an array tell of its elements: which have
 * started, and which of those that are cancelled never will
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

/* Of one pod: -1: it is none of an element; and microseconds since the epoch, or
 * 0: it has not started.
 */
int64_t element_pods_index(const struct object *pod);
int64_t element_pods_start(const struct object *pod);

/* Of all pods of the Job with that uid that are there now. Cancelled: tasks of
 * that list (or NULL) have ended if they have no pod, though nobody tells.
 */
void element_pods_see_starts(const struct object_cache *cache,
                             const char *uid,
                             struct element_ends *ends);
void element_pods_see_cancelled(const struct object_cache *cache,
                                const char *uid,
                                const char *tasks,
                                struct element_ends *ends);

/* When the last of these tasks has started, microseconds since the epoch; 0: no
 * pod tells.
 */
int64_t element_pods_last_start(const struct object_cache *cache,
                                const char *uid,
                                const struct element_ends *ends,
                                const struct task_list *tasks);
