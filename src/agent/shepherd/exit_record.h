/* SPDX-License-Identifier: Apache-2.0 */
/* exit_record.h - the exit record of a pod: how it went
 *
 * Written once by the shepherd, synced, in the pod's state directory: losing
 * it would run a finished job again. Where the disk refuses it, it is left in
 * the pod's directory in /run instead.
 *
 * Thread: any; blocks on the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Steps that mean more than that the job could not be started: a hook of the
 * site's has failed; it was told to end first.
 */
#define EXIT_RECORD_PROLOG     "prolog"
#define EXIT_RECORD_CALLED_OFF "called off"

struct error;

struct exit_record {
    char *pod_uid;
    char *boot_id;

    /* A job that could not be started. NULL when it was. */
    char *failed_step; /* "working directory" */
    char *message;     /* what, where, and what to do about it */
    int64_t error_number;

    int64_t exit_code; /* 128 + signal for one killed, 125 to 127 not started */
    int64_t signal;    /* 0: it exited */
    bool has_core;
    bool was_oom;    /* killed for memory: the job or a process of it */
    bool was_fenced; /* killed because its node was cut off (fence.h) */
    bool was_late;   /* ended at its time limit */

    int64_t started_at_us; /* real time; 0: never */
    int64_t ended_at_us;
    int64_t elapsed_us; /* by the monotonic clock */

    bool is_memory_enforced;
    int64_t peak_memory_bytes; /* without cgroup: of the largest process */
    int64_t cpu_user_us;
    int64_t cpu_system_us;
    int64_t oom_kills;
    bool has_io;           /* the next two are known */
    int64_t read_bytes;    /* from files' storage, of what was waited for */
    int64_t written_bytes; /* to it */

    char *cpus_allowed; /* as observed on the running process, or NULL */
    char *memory_allowed;
    bool has_left_behind; /* processes that even SIGKILL did not end */

    char *epilog_failure; /* what was wrong with it; NULL: nothing */

    /* Its checkpoint command, if it was run: its exit code, 128 + signal. */
    bool has_checkpoint;
    bool was_checkpoint_cut; /* killed because its time was over */
    int64_t checkpoint_code;
    int64_t checkpoint_us;    /* how long it took */
    char *checkpoint_failure; /* it could not be started, and why; or NULL */
};

/* A record is written over the last one that was in its pod's directory, which
 * had another pod then (spare_dirs.h), into this file. One that has no room in
 * it, or for which it cannot be written, is a file of its own, "exit", as those
 * of shepherds of a release before are.
 */
#define EXIT_RECORD_FILE "record"

/* Life. Write fails with -EEXIST where that file is there already. Read looks
 * at both places, -ENOENT when there is none of that pod in either, -EBADMSG for
 * one that a crash of the machine has torn: the job is over, and nothing more is
 * known. Blank: the directory is to be another pod's.
 */
void exit_record_free(struct exit_record *e);
int exit_record_write(const struct exit_record *e,
                      const char *state_dir,
                      const char *run_dir,
                      struct error *err);
int exit_record_read(const char *state_dir,
                     const char *run_dir,
                     const char *pod_uid,
                     struct exit_record **ret_record,
                     struct error *err);
int exit_record_blank(const char *state_dir);
DEFINE_CLEANUP(struct exit_record, exit_record_free)

/* The kernel has killed so many processes of the job for want of memory. With
 * any it has failed: where its own exit code does not say so (on v1 a child
 * dies alone, and a script goes on), 137 is its code.
 */
void exit_record_note_oom(struct exit_record *e, int64_t kills);

/* The job could not be started, for a reason that is the node's and nothing
 * that its user has asked for or could bring about.
 */
bool exit_record_is_nodes_fault(const struct exit_record *e);

/* Its text, for who has to write it with system calls alone. */
struct strbuf;
void exit_record_format(const struct exit_record *e, struct strbuf *out);
