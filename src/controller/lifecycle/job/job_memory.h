/* SPDX-License-Identifier: Apache-2.0 */
/* job_memory.h - the job controller's state of Jobs between two syncs
 *
 * By the Job's key. The state of an earlier Job of that name, with another uid,
 * is dropped when the key is looked up.
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
    bool is_updated;       /* all its pods match the last update of the Job */
    bool is_settling;      /* ends of elements are being sent to the store */
};

/* Life. The queue has the keys of jobs to be synced. */
void job_memories_free(struct job_memories *memories);
struct job_memories *job_memories_new(struct object_cache *cache, struct clock *clock,
                                      struct workqueue *queue) OWNED_BY(job_memories_free);

/* Returns NULL if there is no state, or only that of another job of that name. */
struct job_memory *job_memories_find(struct job_memories *memories, const char *key,
                                     const struct job *job);

/* Returns the state of whichever job has the name. */
struct job_memory *job_memories_peek(const struct job_memories *memories, const char *key);

/* Returns all states, in any order, starting with *at = 0. */
bool job_memories_next(const struct job_memories *memories, size_t *at, const char **ret_key,
                       struct job_memory **ret_memory);

/* Get creates the state if there is none and counts the present pods;
 * those of an array are counted after its elements were read. Recount adds the
 * present pods; Count counts the present pods and `gone`, which was just
 * deleted, or NULL.
 */
struct job_memory *job_memories_get(struct job_memories *memories, const char *key,
                                    const struct job *job);
struct job_pod_counts *job_memories_count(struct job_memories *memories, const struct job *job,
                                          const struct object *gone);
void job_memories_recount(struct job_memories *memories, const struct job *job,
                          struct job_pod_counts *counts);
struct job_memory *job_memories_remember(struct job_memories *memories, const char *key,
                                         struct job_pod_counts *counts TAKES);
void job_memories_forget(struct job_memories *memories, const char *key);

/* Drops the state of a job of one pod unless something is pending or not yet
 * written: its counts are cheap to make again. Most waiting jobs are of this
 * kind.
 */
void job_memories_forget_quiet(struct job_memories *memories, const char *key,
                               const struct job *job, const struct job_plan *plan);

/* Returns true if the planned status is delayed, because it changes only
 * counts; a status that ends or suspends a job is not delayed.
 */
bool job_memories_put_off_status(struct job_memories *memories, const char *key,
                                 struct job_memory *memory, const struct job_plan *plan);
