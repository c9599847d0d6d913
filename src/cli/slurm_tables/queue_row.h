/* SPDX-License-Identifier: Apache-2.0 */
/* queue_row.h - a line of squeue: a job, the tasks of an array that wait, or one
 * task
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"

struct arena;
struct json;
struct strbuf;

struct queue_row {
    int64_t id;
    int64_t task;      /* -1: not one task */
    const char *tasks; /* the waiting tasks of an array, "5,7,9"; or NULL */
    int64_t throttle;  /* of the array; 0: none */
    enum job_state state;
    const char *name, *user, *account, *partition;
    const char *node;   /* "", or a list of nodes */
    const char *reason; /* Slurm's code */
    int64_t cpus, nodes, priority;
    int64_t submit_us, start_us, end_us; /* 0: unknown or not yet */
    int64_t expected_us;                 /* start of a waiting job; 0: unknown */
    int64_t elapsed_s;
    int64_t limit_s;           /* 0: unlimited */
    int64_t attempts;          /* how often it was started */
    int64_t exit_code, signal; /* of an end; the code is 128 + signal then */
    bool keeps_units;          /* --noconvert */
    const struct json *object; /* of the Job, as far as it was asked for; or NULL */
    const char *steps;         /* of squeue -s: "batch", "0"; or NULL */
    int64_t step_tasks;        /* of such a step */
    const struct json *record; /* of a numbered step; or NULL */
    const char *line;          /* what squeue prints of it, without the Job; or NULL */
};

/* The steps of a running job: "batch", the script on its first node, or "extern"; and what a krun
 * has started, of its record (step_cache.h).
 */
struct queue_row queue_row_step(const struct queue_row *job, const char *step, struct arena *arena);
struct queue_row queue_row_numbered_step(const struct queue_row *job, const struct json *record,
                                         struct arena *arena);

/* Makes a row one of this arena, without its Job, or with what the fields of steps need of it. */
void queue_row_keep(struct queue_row *row, bool with_steps, struct arena *arena);

/* The texts of a row that more than one field has. Job: the Job's tree may be
 * NULL, and then they find nothing.
 */
void queue_row_add_id(const struct queue_row *row, struct strbuf *out);
void queue_row_add_tasks(const struct queue_row *row, struct strbuf *out);
void queue_row_add_time_left(const struct queue_row *row, struct strbuf *out);
void queue_row_add_reason_or_nodes(const struct queue_row *row, struct strbuf *out);
int64_t queue_row_limit_s(const struct queue_row *row); /* in whole minutes, as Slurm has it */
bool queue_row_is_waiting(const struct queue_row *row);
bool queue_row_is_ended(const struct queue_row *row);
int64_t queue_row_end_us(const struct queue_row *row); /* expected, 0: unknown */
const char *queue_row_pod_text(const struct queue_row *row, const char *path); /* of the template */
int64_t queue_row_tasks_asked(const struct queue_row *row);
int64_t queue_row_tasks_per_node(const struct queue_row *row); /* asked for; or 0 */
int64_t queue_row_memory(const struct queue_row *row);         /* bytes, of each node */
int64_t queue_row_gpus(const struct queue_row *row, const char **ret_model);
int64_t queue_row_scratch(const struct queue_row *row);     /* of --tmp: bytes of each node */
int64_t queue_row_deadline_us(const struct queue_row *row); /* of --deadline; 0: none */
const char *queue_row_features(const struct queue_row *row, struct arena *arena);
const char *queue_row_nodes_named(const struct queue_row *row, bool is_exclusion,
                                  struct arena *arena);
void queue_row_add_tres(const struct queue_row *row, struct strbuf *out);
void queue_row_add_dependency(const struct queue_row *row, struct strbuf *out);
const char *queue_row_annotation(const struct queue_row *row, const char *name);
const char *queue_row_command(const struct queue_row *row, struct arena *arena); /* NULL: no file */
/* The absolute path of the file of a stream, with the patterns replaced as far as they are
 * known; "/dev/null" for none. Standard error is where standard output is, unless it is named.
 */
enum queue_row_stream { QUEUE_ROW_STDIN, QUEUE_ROW_STDOUT, QUEUE_ROW_STDERR };
const char *queue_row_file(const struct queue_row *row, enum queue_row_stream stream,
                           struct arena *arena);
int64_t queue_row_uid(const struct queue_row *row); /* -1: unknown */
int64_t queue_row_gid(const struct queue_row *row); /* likewise */
int64_t queue_row_priority(const struct queue_row *row);
int64_t queue_row_restarts(const struct queue_row *row);
int64_t queue_row_wait_status(const struct queue_row *row); /* 0: it has not ended */
/* Of a job that is held or depends on others: of --begin, if it is; or 0. */
int64_t queue_row_eligible_us(const struct queue_row *row);
int64_t queue_row_accrue_us(const struct queue_row *row); /* likewise, but always 0 then */
/* While it waits the expected one, or a later --begin; 0: unknown. */
int64_t queue_row_start_us(const struct queue_row *row);
int64_t queue_row_cpus_per_task(const struct queue_row *row);
bool queue_row_may_restart(const struct queue_row *row);   /* it was submitted with --requeue */
bool queue_row_is_allocation(const struct queue_row *row); /* of salloc: it has no batch step */
int64_t queue_row_nice(const struct queue_row *row);
const char *queue_row_qos(const struct queue_row *row);
