/* SPDX-License-Identifier: Apache-2.0 */
/* live_record.h - what a running shepherd says about itself, for an agent that
 * was not there when it began
 *
 * A file in the pod's directory in /run, replaced as a whole at each step; the
 * first is written in place, and is no record to a reader before it is whole. A
 * process is recognised by boot id, pid and the kernel's start time of that
 * pid, so that a recycled pid is never taken for it.
 *
 * Thread: any; small files in /run.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;

enum live_phase {
    LIVE_PREPARING, /* nothing of the user's has run: safe to launch again */
    LIVE_STARTING,  /* the job may be running */
    LIVE_RUNNING,
    LIVE_ENDING, /* the job is over, what it left behind is being killed */
};

struct live_record {
    char *pod_uid;
    char *boot_id;
    enum live_phase phase;
    int64_t shepherd_pid;
    int64_t shepherd_start; /* clock ticks since boot */
    int64_t job_pid;        /* also its session and process group; 0: none */
    int64_t job_start;
    int64_t started_at_us; /* real time; 0 before RUNNING */
    char *cpus_allowed;    /* as the kernel shows the job's; NULL before */
    char *memory_allowed;
    char *waits_for;     /* what a job that is starting waits for; or NULL */
    int64_t keeps_limit; /* 1: the shepherd ends it at its time limit; 2: and
                          * takes another (launch.h); 3: and freezes it; 4:
                          * and runs its checkpoint command */
    int64_t
        frozen_at_us;  /* real time, since when it stands still; 0: it runs */
    int64_t frozen_us; /* how long it has stood still before */
};
#define LIVE_CAN_FREEZE     3
#define LIVE_CAN_CHECKPOINT 4

/* Life. Read gives -ENOENT when there is none. */
void live_record_free(struct live_record *l);
int live_record_write(const struct live_record *l,
                      const char *run_dir,
                      struct error *err);
int live_record_read(const char *run_dir,
                     struct live_record **ret_live,
                     struct error *err);
DEFINE_CLEANUP(struct live_record, live_record_free)

/* A pidfd of the shepherd if it still runs, readable once it ends; -ESRCH if
 * it does not. `boot_id` is that of now.
 */
int live_record_open(const struct live_record *l, const char *boot_id);

/* The start time of a process, for the fields above. -ESRCH: no such. */
int live_record_read_start(pid_t pid, int64_t *ret_ticks);
