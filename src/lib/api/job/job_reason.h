/* SPDX-License-Identifier: Apache-2.0 */
/* job_reason.h - why a job waits, or how it ended: one code and a few words
 *
 * Of all that is known of a Job and the pod that stands for it, the one cause
 * that matters, for a column of a table and for the first line of `kctl why`:
 *
 *   BadConstraints   no partition gpux
 *   Resources        waits for 2 CPUs on real, from about 22:06
 *   OutOfMemory      over 50 MiB
 *
 * Codes are few and stay; where Slurm has one it is Slurm's. kiln-reasons(7) is
 * their table. A cause that only others know (the scheduler, preemption, the
 * job controller) is written by these into `status.cause` of the Pod or the Job
 * (struct pod_cause, pod.h); all others are read from the objects here.
 * Upstream's words stay in conditions and events.
 *
 * Thread:  any; pure functions.
 * See: job_state.h for the states; job_wait.h for the words of who waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pod_cause;
struct job;
struct pod;
struct strbuf;

enum job_reason {
    JOB_REASON_NONE, /* nothing keeps it, or nobody has looked yet */

    /* It waits. */
    JOB_REASON_RESOURCES, /* others have what it needs */
    JOB_REASON_PRIORITY,  /* others are tried before it */
    JOB_REASON_HELD_USER,
    JOB_REASON_HELD_ADMIN,
    JOB_REASON_HELD_REQUEUES, /* it was interrupted too often */
    JOB_REASON_BEGIN_TIME,
    JOB_REASON_DEPENDENCY,       /* other jobs come first */
    JOB_REASON_DEPENDENCY_NEVER, /* what it waits for can never be; or it has
                                  * ended by that */
    JOB_REASON_GATED,
    JOB_REASON_NOT_AVAILABLE,    /* the nodes that could run it are closed */
    JOB_REASON_PARTITION_DOWN,   /* the same of its whole partition */
    JOB_REASON_PARTITION_TIME,   /* it asks for more than that gives now: */
    JOB_REASON_PARTITION_LIMIT,  /* time, CPUs or memory */
    JOB_REASON_RESERVATION,      /* its reservation has not begun */
    JOB_REASON_RESERVATION_GONE, /* it is gone or has ended */
    JOB_REASON_RESERVED,         /* others have the nodes before it would end */
    JOB_REASON_BAD_CONSTRAINTS,  /* no node can ever run it */
    JOB_REASON_GROUP_CPUS,       /* a quota: CPUs... */
    JOB_REASON_GROUP_MEMORY,
    JOB_REASON_GROUP_JOBS,
    JOB_REASON_GROUP_OTHER, /* ...or something else that is counted */
    JOB_REASON_STORAGE,     /* a volume or scratch */
    JOB_REASON_START,       /* its node waits for something of it */

    JOB_REASON_SUSPENDED, /* it stands still */

    /* It was ended, or has ended. */
    JOB_REASON_NODE_DOWN, /* silent, lost or restarted */
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

/* The words of a preemption begin so, and go on with the other job's number. */
#define JOB_REASON_BY_JOB "preempted by job "

/* "Resources", "JobHeldUser", ...; "None". */
const char *job_reason_name(enum job_reason reason);

/* Of two pods of a job, of which `a` may be NULL, the one that stands for it:
 * that which is furthest of those that are there to run, else the newest that
 * failed.
 */
const struct pod *job_reason_prefer(const struct pod *a, const struct pod *b);

/* A job as its reader sees it. */
struct job_reason_facts {
    const struct job *job; /* NULL: a pod that is no job's */
    const struct pod *pod; /* job_reason_prefer of all; NULL: none is there */
    int64_t now_us;
    bool is_whole;  /* the reader may see what it runs: its owner, operators */
    bool is_utc;    /* times; false: those of the process */
    int64_t east_s; /* of UTC, where the reader is; with is_utc */
};

/* The cause, in words without an end of line; nothing of a job that runs well
 * or has completed. It may name a node, never another user's file or output.
 */
enum job_reason job_reason_find(const struct job_reason_facts *facts,
                                struct strbuf *words);

/* "50 MiB", "1.5 GiB" */
void job_reason_add_bytes(int64_t bytes, struct strbuf *out);

/* "0:03", "1:00:00", "1-00:00:00" */
void job_reason_add_duration(int64_t seconds, struct strbuf *out);
