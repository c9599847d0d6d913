/* SPDX-License-Identifier: Apache-2.0 */
/* history_row.h - one attempt of a job that has ended, as history keeps it
 *
 * A pod of a Job, or a pod of its own, leaves one when it ends; a Job that
 * ended before it had any pod leaves one, too. It says what was asked, held and
 * used, by whom, where and when, and how it ended, and needs no object to be
 * read.
 *
 * Thread:  any; plain data.
 * See:     controller/history, kiln-history(7).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct object;
struct record;

struct history_row {
    int64_t id; /* of the row; 0: it has none yet */
    const char *user;
    int64_t uid;
    const char *account; /* the namespace */
    const char *partition;
    int64_t job_id; /* 0: a pod of its own */
    const char *job_uid;
    const char *object; /* the Job's name in its namespace, or the pod's */
    const char *name;   /* as its owner calls it */
    const char *pod;    /* NULL: it never had one */
    const char *pod_uid;
    const int64_t *index; /* of an Indexed Job */
    const int64_t *task;  /* of an array, the number that people know */
    const char *tasks;    /* of an array, in one row: those that never started,
                           * shortened */
    int64_t attempt;      /* from 1; 0: it never had a pod */
    int64_t submit_at_us;
    int64_t eligible_at_us;
    int64_t start_at_us; /* 0: never */
    int64_t end_at_us;
    int64_t frozen_us; /* of that it stood still */
    const char *node;
    int64_t cpu_milli; /* held, or asked for while it held none */
    int64_t memory_bytes;
    const char *devices; /* "nvidia.com/gpu=2"; or NULL */
    int64_t time_limit_s;
    const int64_t *cpu_time_us; /* NULL: not known */
    const int64_t *peak_memory_bytes;
    const int64_t *read_bytes; /* of storage */
    const int64_t *written_bytes;
    const char *state;        /* job_state.h's words */
    const int64_t *exit_code; /* NULL: it did not get as far */
    int64_t signal;
    const char *ended_by; /* a user's name, "job 1043", "node n1", "time limit",
                             "memory limit", "deadline"; or NULL */
    const char *reason;   /* job_reason.h's codes */
    const char *message;
    const char *script; /* its digest */
    int64_t revision;   /* of the store, at its end */
    bool is_lost;       /* the store was restored to a state before its end */
};

extern const struct record history_row_record;

/* The row of a pod that has ended, or that is removed now. The Job may be NULL:
 * it is gone, then deleted_by says through whom (NULL: not known), or the pod is
 * no Job's. Texts are in the arena or borrowed from the objects.
 */
void history_row_of_pod(struct history_row *row,
                        struct arena *arena,
                        const struct object *pod,
                        const struct object *job,
                        const char *deleted_by,
                        int64_t now_us);

/* Of a Job that ended without ever having a pod. */
void history_row_of_job(struct history_row *row,
                        struct arena *arena,
                        const struct object *job,
                        int64_t now_us);

/* Whether a pod that goes without having ended was an attempt: it had a node,
 * or with it the Job ends.
 */
struct pod;
struct job;
bool history_row_is_due(const struct pod *pod, const struct job *job);
