/* SPDX-License-Identifier: Apache-2.0 */
/* job_memory.h - what the job controller remembers of Jobs between two syncs
 *
 * By the Job's key. One of another Job of that name, by its uid, is forgotten
 * when it is looked for.
 *
 * Owns:    the counts of each Job.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct job;
struct job_memories;
struct job_plan;
struct job_pod_counts;
struct object;
struct object_cache;
struct workqueue;

struct job_memory {
    struct job_pod_counts *counts;
    int64_t counts_due_us; /* monotonic; 0: no counts wait to be written */
    bool is_updated;  /* all its pods are as it says since it was updated */
    bool is_settling; /* ends of elements are on their way to the store */
};

/* Life. The queue is the one in which jobs wait that are to be looked at. */
void job_memories_free(struct job_memories *memories);
struct job_memories *job_memories_new(struct object_cache *cache,
                                      struct clock *clock,
                                      struct workqueue *queue)
    OWNED_BY(job_memories_free);

/* Look. Find: NULL, nothing is remembered, or of another job of that name. Peek:
 * whichever job it is of. Next: all, in any order, from *at = 0 on.
 */
struct job_memory *job_memories_find(struct job_memories *memories,
                                     const char *key,
                                     const struct job *job);
struct job_memory *job_memories_peek(const struct job_memories *memories,
                                     const char *key);
bool job_memories_next(const struct job_memories *memories,
                       size_t *at,
                       const char **ret_key,
                       struct job_memory **ret_memory);

/* Change. Get: made where there is none, of the pods that are there; those of an
 * array are counted once its elements are read. Recount adds the pods that are
 * there; Count is of these and of one that has just gone, or NULL.
 */
struct job_memory *job_memories_get(struct job_memories *memories,
                                    const char *key,
                                    const struct job *job);
struct job_pod_counts *job_memories_count(struct job_memories *memories,
                                          const struct job *job,
                                          const struct object *gone);
void job_memories_recount(struct job_memories *memories,
                          const struct job *job,
                          struct job_pod_counts *counts);
struct job_memory *job_memories_remember(struct job_memories *memories,
                                         const char *key,
                                         struct job_pod_counts *counts TAKES);
void job_memories_forget(struct job_memories *memories, const char *key);

/* A job of one pod is counted anew when something happens; only while something is
 * not written yet, or on its way, it is worth remembering. Most jobs that wait are
 * such.
 */
void job_memories_forget_quiet(struct job_memories *memories,
                               const char *key,
                               const struct job *job,
                               const struct job_plan *plan);

/* True: the planned status waits for company, since it is of counts alone; what
 * ends or suspends a job does not wait.
 */
bool job_memories_put_off_status(struct job_memories *memories,
                                 const char *key,
                                 struct job_memory *memory,
                                 const struct job_plan *plan);
