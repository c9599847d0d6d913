/* SPDX-License-Identifier: Apache-2.0 */
/* account_row.h - a line of sacct: an attempt of a job or task that has ended, a
 * job that waits or runs, or a step of one of these
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"

struct arena;
struct json;
struct queue_row;

struct account_row {
    int64_t id;
    int64_t task;      /* -1: not one task */
    const char *tasks; /* of an array, tasks that wait or never started; or NULL */
    int64_t throttle;
    const char *step;    /* "batch", "extern", "0"; NULL: the job itself */
    int64_t tasks_count; /* of a numbered step; or 0 */
    const char *name, *user, *account, *partition, *node;
    const char *ender; /* who cancelled it; or NULL */
    int64_t ended_by;  /* the uid of who ended this numbered step; -1: nobody, or not known */
    const char *distribution, *submit_line; /* of a numbered step; or NULL */
    const char *reason;                     /* Slurm's code */
    enum job_state state;
    int64_t uid;                       /* -1: unknown */
    int64_t cpus, nodes, gpus, memory; /* of all nodes together */
    int64_t limit_s;
    int64_t submit_us, eligible_us, start_us, end_us, suspended_us; /* 0: none */
    int64_t attempt;
    int64_t exit_code, signal;
    int64_t derived; /* the highest status of its numbered steps, as wait(2) has it */
    int64_t cpu_us, rss, read, written; /* -1: unknown */
    int64_t user_us, system_us;         /* the parts of cpu_us, of numbered steps; -1: unknown */
    char unit;                          /* of --units; 0: none */
    int64_t since_us, until_us;         /* of -T: times are cut to these; 0: not */
    const struct queue_row *live;       /* if it was asked for as a job; or NULL */
    bool is_allocation;                 /* of salloc or kalloc: it has no batch step */
    bool is_since;                      /* asked for after the row of history with the same start */
};

/* The rows of a row of history, and of a job that waits or runs. */
struct account_row account_row_of_history(const struct json *row, struct arena *arena);
struct account_row account_row_of_queue(const struct queue_row *row, int64_t now_us);

/* Whether it has the step "batch" or "extern": it has started. */
bool account_row_has_step(const struct account_row *row, const char *step);

/* Such a step. */
struct account_row account_row_step(const struct account_row *job, const char *step,
                                    struct arena *arena);

/* The step of which it is the record (step_list.h): what a krun, or srun, has started. */
struct account_row account_row_of_step(const struct account_row *job, const struct json *record,
                                       struct arena *arena);

/* Seconds that it has run; without the time that it was suspended. */
int64_t account_row_elapsed_s(const struct account_row *row);

/* When it started and ended, cut by -T; 0: not yet. */
int64_t account_row_start_us(const struct account_row *row);
int64_t account_row_end_us(const struct account_row *row);
bool account_row_has_started(const struct account_row *row);
bool account_row_waits(const struct account_row *row);

/* -1: unknown, or of a step. */
int64_t account_row_gid(const struct account_row *row);
