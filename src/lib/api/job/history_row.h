/* SPDX-License-Identifier: Apache-2.0 */
/* history_row.h - one attempt of a job that has ended, as history keeps it
 *
 * A pod leaves one row when it ends, whether or not it belongs to a Job; a Job
 * that ended before it had a pod leaves one, too. The row says what was
 * requested, held and used, by whom, where and when, and how it ended. It can
 * be read without any object.
 *
 * Thread:  any; plain data.
 * See:     controller/history, kiln-history(7).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct job;
struct object;
struct record;

/* The script runs on the first node of the attempt, or on each. */
#define HISTORY_MEMBER_FIRST 1
#define HISTORY_MEMBER_EACH  2

/* In the podUid of the row of an attempt of several nodes, before its number. */
#define HISTORY_ATTEMPT_KEY "/"

struct history_row {
    int64_t id; /* of the row; 0: none yet */
    const char *user;
    int64_t uid;
    const char *account; /* the namespace */
    const char *partition;
    int64_t job_id; /* 0: a pod without a Job */
    const char *job_uid;
    const char *object; /* the Job's name in its namespace, or the pod's */
    const char *name;   /* given by its owner */
    const char *pod;    /* NULL: there was no pod */
    const char *pod_uid;
    const int64_t *index; /* of an Indexed Job */
    const int64_t *task;  /* of an array: the task id */
    const char *tasks;    /* of an array: the ids that never started, which
                           * share one row; shortened */
    int64_t attempt;      /* from 1; 0: there was no pod */
    int64_t submit_at_us;
    int64_t eligible_at_us;
    int64_t start_at_us; /* 0: never */
    int64_t end_at_us;
    int64_t frozen_us; /* time suspended */
    const char *node;
    int64_t cpu_milli; /* held; requested if it held none */
    int64_t memory_bytes;
    const char *devices; /* "nvidia.com/gpu=2"; or NULL */
    int64_t time_limit_s;
    const int64_t *cpu_time_us; /* NULL: unknown */
    const int64_t *peak_memory_bytes;
    const int64_t *rss_bytes, *cache_bytes; /* NULL: the agent did not tell */
    /* Of GPUs; NULL: unknown. Busy on average in thousandths of a GPU. */
    const int64_t *gpus, *gpu_milli, *gpu_peak_bytes, *gpu_memory_bytes;
    const int64_t *read_bytes; /* of storage */
    const int64_t *written_bytes;
    const char *state;        /* a name of job_state.h */
    const int64_t *exit_code; /* NULL: there is none */
    int64_t signal;
    const char *ended_by; /* a user's name, "job 1043", "node n1", "time limit",
                             "memory limit", "deadline"; or NULL */
    const char *reason;   /* a code of job_reason.h */
    const char *message;
    const char *script; /* digest */
    int64_t revision;   /* of the store, at the end */
    int64_t nodes;      /* of the attempt of a job of several; 0: it has one */
    int64_t member;     /* it is the row of one of these nodes: HISTORY_MEMBER_ */
    bool is_lost;       /* the store was restored to before its end */
    bool is_allocation; /* of kalloc: without a script */
};

/* How a field stands in the file, in its column of the table of attempts. */
enum history_column_form {
    HISTORY_FORM_VALUE,   /* as its type says, and so the next five: */
    HISTORY_FORM_NUMBER,  /* 0 is absent */
    HISTORY_FORM_MEASURE, /* NULL is absent, and 0 is not */
    HISTORY_FORM_TEXT,
    HISTORY_FORM_TIME, /* whole seconds */
    HISTORY_FORM_FLAG,
    HISTORY_FORM_ROW_ID,  /* the file gives it */
    HISTORY_FORM_WORD,    /* a text that recurs: its number in a table of words */
    HISTORY_FORM_UID,     /* 16 bytes */
    HISTORY_FORM_DIGEST,  /* 32 bytes */
    HISTORY_FORM_OBJECT,  /* a text that each row has */
    HISTORY_FORM_NAME,    /* NULL: the object's */
    HISTORY_FORM_POD,     /* the name after that of the object, or all of it */
    HISTORY_FORM_POD_UID, /* identifies the row: that of the Job if there was no pod */
    HISTORY_FORM_LOST,    /* a flag that is set later */
};

struct field_column {
    const char *name;
    enum history_column_form form;
    int since;       /* the version of the file's schema that added it */
    bool is_summed;  /* the row of an attempt of several nodes has the sum of theirs */
    bool is_private; /* only the owner of the row may read it */
};

/* All that is known of a field, once: its name in the API, its member, its column. The
 * file's schema, its statements, what is written and read, and the answers follow from
 * this table. Places are in its order; these fields are named by code:
 */
extern const struct record history_row_record;
enum history_row_place {
    HISTORY_AT_ID = 0,
    HISTORY_AT_USER = 1,
    HISTORY_AT_UID = 2,
    HISTORY_AT_ACCOUNT = 3,
    HISTORY_AT_PARTITION = 4,
    HISTORY_AT_JOB = 5,
    HISTORY_AT_OBJECT = 7,
    HISTORY_AT_NAME = 8,
    HISTORY_AT_POD = 9,
    HISTORY_AT_INDEX = 11,
    HISTORY_AT_TASK = 12,
    HISTORY_AT_TASKS = 13,
    HISTORY_AT_END = 18,
    HISTORY_AT_NODE = 20,
    HISTORY_AT_STATE = 35,
    HISTORY_AT_NODES = 44,
    HISTORY_AT_MEMBER = 45,
};

/* The row of a pod that has ended or is being removed. `job` is NULL if the pod
 * has no Job, or if the Job is gone; deleted_by then says who deleted it (NULL:
 * unknown). Texts are in the arena or borrowed from the objects.
 */
void history_row_of_pod(struct history_row *row, struct arena *arena, const struct object *pod,
                        const struct object *job, const char *deleted_by, int64_t now_us);

/* The row of a Job that ended without ever having a pod. */
void history_row_of_job(struct history_row *row, struct arena *arena, const struct object *job,
                        int64_t now_us);

/* Whether a job was ended while it waited after a requeue, so no row of an attempt says so. */
bool history_row_waited_again(const struct job *job);

/* Whether a pod that is removed before it ended counts as an attempt: it had a
 * node, or the Job ends with it.
 */
struct pod;
bool history_row_is_due(const struct pod *pod, const struct job *job);
