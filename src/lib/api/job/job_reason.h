/* SPDX-License-Identifier: Apache-2.0 */
/* job_reason.h - why a job waits or how it ended: one code and a short text
 *
 * From all that is known about a Job and the pod that represents it, this
 * module finds the one cause that matters, for a column of a table and for the
 * first line of `kctl why`:
 *
 *   BadConstraints   no partition gpux
 *   Resources        waits for 2 CPUs on real, from about 22:06
 *   OutOfMemory      over 50 MiB
 *
 * Codes are few and stable; where Slurm has a code, it is the same.
 * kiln-reasons(7) lists them. A cause that only another component knows (the
 * scheduler, preemption, the job controller) is written by that component into
 * `status.cause` of the Pod or the Job (struct pod_cause, pod.h); all others
 * are derived from the objects here. Upstream's messages stay in conditions and
 * events.
 *
 * Thread:  any; pure functions.
 * See: job_state.h for the states; job_wait.h for the texts of pending pods.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pod_cause;
struct job;
struct pod;
struct strbuf;

enum job_reason {
    JOB_REASON_NONE, /* nothing blocks it, or not yet examined */

    /* The job waits. */
    JOB_REASON_RESOURCES, /* others use what it needs */
    JOB_REASON_PRIORITY,  /* others are tried first */
    JOB_REASON_HELD_USER,
    JOB_REASON_HELD_ADMIN,
    JOB_REASON_HELD_REQUEUES, /* interrupted too often */
    JOB_REASON_BEGIN_TIME,
    JOB_REASON_DEPENDENCY,       /* other jobs must end or start first */
    JOB_REASON_DEPENDENCY_NEVER, /* a dependency can never be met; or that has
                                  * ended the job */
    JOB_REASON_GATED,
    JOB_REASON_NOT_AVAILABLE,    /* nodes that could run it are closed */
    JOB_REASON_PARTITION_DOWN,   /* likewise, the whole partition */
    JOB_REASON_PARTITION_TIME,   /* time above its partition's limit */
    JOB_REASON_PARTITION_LIMIT,  /* CPUs or memory above it */
    JOB_REASON_NOT_ALLOWED,      /* its owner, partition or reservation changed */
    JOB_REASON_RESERVATION,      /* its reservation has not begun */
    JOB_REASON_RESERVATION_GONE, /* its reservation is gone or has ended */
    JOB_REASON_RESERVED,         /* nodes are reserved before its end */
    JOB_REASON_BAD_CONSTRAINTS,  /* no node can ever run it */
    JOB_REASON_GROUP_CPUS,       /* a quota of CPUs */
    JOB_REASON_GROUP_MEMORY,
    JOB_REASON_GROUP_JOBS,
    JOB_REASON_GROUP_OTHER, /* a quota of something else */
    JOB_REASON_STORAGE,     /* a volume or scratch directory */
    JOB_REASON_START,       /* its node waits for something it needs */

    JOB_REASON_SUSPENDED, /* its pods are suspended */

    /* The job was ended or has ended. */
    JOB_REASON_NODE_DOWN, /* not reporting, lost or restarted */
    JOB_REASON_PREEMPTED,
    JOB_REASON_EVICTED,
    JOB_REASON_PROLOG,
    JOB_REASON_LAUNCH_FAILURE,
    JOB_REASON_TIME_LIMIT,
    JOB_REASON_DEADLINE,
    JOB_REASON_OUT_OF_MEMORY,
    JOB_REASON_SIGNAL,
    JOB_REASON_EXIT_CODE,
    JOB_REASON_CANCELLED,
    JOB_REASON_POD_DELETED,
    JOB_REASON_SYSTEM_FAILURE,
    JOB_REASON_OTHER,
    JOB_REASON_COUNT
};

/* The text of a preemption begins like this and continues with the other job's
 * number.
 */
#define JOB_REASON_BY_JOB "preempted by job "

/* "Resources", "JobHeldUser", ...; "None". */
const char *job_reason_name(enum job_reason reason);

/* Of two pods of a job, of which `a` may be NULL, the one that represents it: a
 * pod that has not ended before one that has, the most advanced first;
 * otherwise the newest failed one.
 */
const struct pod *job_reason_prefer(const struct pod *a, const struct pod *b);

/* A job from the point of view of its reader. */
struct job_reason_facts {
    const struct job *job; /* NULL: a pod without a Job */
    const struct pod *pod; /* by job_reason_prefer; NULL: no pod */
    int64_t now_us;
    bool is_whole;  /* reader may see what it runs: owner, operators */
    bool is_utc;    /* times in UTC plus east_s, not local time */
    int64_t east_s; /* reader's offset to UTC; with is_utc */
};

/* Appends the cause as a text without newlines; appends nothing for a job that
 * runs well or has completed. The text may name a node, never another user's
 * file or output.
 */
enum job_reason job_reason_find(const struct job_reason_facts *facts, struct strbuf *words);

/* Appends how a job ended, for its owner: "Completed", "Failed on n1, exit code
 * 3". The run is the job's last; its pod may be gone by now.
 */
void job_reason_describe_end(const struct job *job, struct strbuf *words);

/* "50 MiB", "1.5 GiB" */
void job_reason_add_bytes(int64_t bytes, struct strbuf *out);

/* "0:03", "1:00:00", "1-00:00:00" */
void job_reason_add_duration(int64_t seconds, struct strbuf *out);
