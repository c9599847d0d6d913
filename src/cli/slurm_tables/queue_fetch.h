/* SPDX-License-Identifier: Apache-2.0 */
/* queue_fetch.h - asks the controller for the jobs of squeue, sacct and the
 * other commands that show a queue
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/slurm_tables/queue_fields.h"
#include "cli/slurm_tables/queue_row.h"

struct arena;
struct error;
struct slurm_client;

/* For as long Slurm shows a job that has ended (MinJobAge). */
#define QUEUE_JOB_AGE_S 300

/* Makes of a row one that does not refer to `page`, which is freed. False: the row is not wanted. */
typedef bool queue_keep_fn(struct queue_row *row, struct arena *page, void *context);

struct queue_query {
    enum queue_need need;
    uint32_t states;       /* bits of JOB_STATE_BIT */
    const char *user;      /* NULL: all */
    const char *partition; /* NULL: all */
    const char *node;      /* NULL: all */
    int64_t since_us;      /* jobs that ended before are left out; 0: MinJobAge */
    bool is_finished;      /* only Jobs that have ended as a whole, by the server's index */
    bool has_all_tasks;    /* the tasks of arrays that wait have rows of their own */
    bool keeps_units;
    queue_keep_fn *keep; /* NULL: the rows and their Jobs are in the arena of the others */
    void *context;
};

struct queue_rows {
    struct queue_row *items;
    size_t count, capacity;
};
void queue_rows_fini(struct queue_rows *rows);

/* Appends the rows, in the arena. One job: -ENOENT if there is none, or it
 * ended longer ago than Slurm shows jobs.
 */
int queue_fetch(struct slurm_client *client, const struct queue_query *query, struct arena *arena,
                struct queue_rows *rows, struct error *err);
int queue_fetch_job(struct slurm_client *client, const struct queue_query *query, int64_t id,
                    struct arena *arena, struct queue_rows *rows, struct error *err);
