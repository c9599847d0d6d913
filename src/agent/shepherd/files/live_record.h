/* SPDX-License-Identifier: Apache-2.0 */
/* live_record.h - the state that a running shepherd writes for agents that did
 * not start it
 *
 * A file in the pod's directory in /run, replaced as a whole at each step. The
 * first one is written in place; readers do not accept it before it is
 * complete. A process is identified by boot id, pid and the kernel's start time
 * of that pid, so that a recycled pid is never taken for it.
 *
 * Thread: any; small files in /run.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;

enum live_phase {
    LIVE_PREPARING, /* no process of the user has run: safe to launch again */
    LIVE_STARTING,  /* the job may be running */
    LIVE_RUNNING,
    LIVE_ENDING, /* the job is over, remaining processes are being killed */
};

struct live_record {
    char *pod_uid;
    char *boot_id;
    enum live_phase phase;
    int64_t shepherd_pid;
    int64_t shepherd_start; /* clock ticks since boot */
    int64_t job_pid;        /* also its session and process group; 0: none */
    int64_t job_start;
    int64_t started_at_us; /* wall clock; 0 before LIVE_RUNNING */
    /* CLOCK_BOOTTIME of the same moment, for durations; live_record_started_boot_us reads it */
    int64_t started_boot_us;
    char *cpus_allowed; /* as the kernel shows for the job; NULL before */
    char *memory_allowed;
    char *waits_for; /* of a job that is starting; or NULL */
    /* 1: the shepherd has done all that comes before the job, and waits until it may
     * start it (launch.h); the phase is still LIVE_PREPARING
     */
    int64_t is_prepared;
    /* 1: the shepherd enforces the time limit; 2: also a changed one
     * (launch.h); 3: it can also freeze; 4: it can also run the checkpoint
     * command; 5: its exit record also has was_ended; 6: it can also
     * send the user's signals
     */
    int64_t keeps_limit;
    int64_t frozen_at_us; /* wall clock, start of the freeze; 0: it runs */
    int64_t frozen_us;    /* total of former freezes */
};
#define LIVE_CAN_FREEZE     3
#define LIVE_CAN_CHECKPOINT 4
#define LIVE_NOTES_ORDER    5
#define LIVE_CAN_SIGNAL     6

/* Life. live_record_read returns -ENOENT when there is none. */
void live_record_free(struct live_record *l);
int live_record_write(const struct live_record *l, const char *run_dir, struct error *err);
int live_record_read(const char *run_dir, struct live_record **ret_live, struct error *err);
DEFINE_CLEANUP(struct live_record, live_record_free)

/* Opens a pidfd of the shepherd if it still runs, which is readable once it
 * ends; -ESRCH if it does not run. `boot_id` is the present one.
 */
int live_record_open(const struct live_record *l, const char *boot_id);

/* When the job started, on CLOCK_BOOTTIME. A shepherd of an earlier release has
 * not recorded it; the kernel's start time of the job's process is then what
 * comes closest. 0: not started.
 */
int64_t live_record_started_boot_us(const struct live_record *l);

/* Reads the start time of a process, for the members above. -ESRCH: no such
 * process.
 */
int live_record_read_start(pid_t pid, int64_t *ret_ticks);
