/* SPDX-License-Identifier: Apache-2.0 */
/* exit_record.h - the exit record of a pod: how its job ended
 *
 * The shepherd writes it once, synced, in the pod's state directory, because a finished job
 * without the record would run again. Where the disk refuses the record, it is written to the
 * pod's directory in /run instead.
 *
 * Thread: any; blocks on the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Failed steps with a meaning of their own: a hook of the site has failed; the
 * pod was ended before its job had started.
 */
#define EXIT_RECORD_PROLOG     "prolog"
#define EXIT_RECORD_CALLED_OFF "called off"

struct error;

struct exit_record {
    char *pod_uid;
    char *boot_id;

    /* For a job that could not be started. NULL when it was. */
    char *failed_step; /* "working directory" */
    char *message;     /* what, where, and what to do about it */
    int64_t error_number;

    int64_t exit_code; /* 128 + signal if killed, 125 to 127 if not started */
    int64_t signal;    /* 0: no signal */
    bool has_core;
    bool was_oom;       /* the OOM killer killed the job or a process of it */
    bool was_fenced;    /* killed because its node was cut off (fence.h) */
    bool was_late;      /* ended at its time limit */
    bool was_shut_down; /* ended because its node was being shut down */
    bool was_ended;     /* on the agent's order, which came before its own end */
    bool had_own_end;   /* no order came before its end; shepherds of earlier releases do
                       * not know it */

    int64_t started_at_us; /* wall clock; 0: never started */
    int64_t ended_at_us;
    int64_t elapsed_us; /* on the monotonic clock */
    int64_t frozen_us;  /* how long the job was suspended */

    bool is_memory_enforced;
    int64_t peak_memory_bytes; /* without a cgroup: of the largest process */
    bool has_rss;              /* rss_bytes and cache_bytes are known */
    int64_t rss_bytes;         /* of the peak, what its processes had at least */
    int64_t cache_bytes;       /* page cache of files, at the end */
    int64_t cpu_user_us;
    int64_t cpu_system_us;
    int64_t oom_kills;
    bool has_io;           /* read_bytes and written_bytes are known */
    int64_t read_bytes;    /* from storage, by waited-for processes */
    int64_t written_bytes; /* to storage */

    char *cpus_allowed; /* as observed on the running process, or NULL */
    char *memory_allowed;
    bool has_left_behind; /* processes remained that even SIGKILL did not end */

    char *epilog_failure; /* why the epilog failed; NULL: it did not */

    /* If the checkpoint command was run: its exit code, or 128 + signal. */
    bool has_checkpoint;
    bool was_checkpoint_cut; /* killed because its time was over */
    int64_t checkpoint_code;
    int64_t checkpoint_us;    /* its duration */
    char *checkpoint_failure; /* why it could not be started, or NULL */
};

/* A record overwrites this file of the pod that had the directory before
 * (spare_dirs.h). If the record does not fit into the file, or the file cannot
 * be written, the record gets a file of its own, "exit", like those of
 * shepherds of the previous release.
 */
#define EXIT_RECORD_FILE "record"

/* Life. exit_record_write fails with -EEXIST where "exit" exists already.
 * exit_record_read looks at both places: -ENOENT when neither has a record of
 * that pod, -EBADMSG for a record that a crash of the machine has torn: the job
 * is over, and nothing more is known. exit_record_blank prepares the directory
 * for another pod.
 */
void exit_record_free(struct exit_record *e);
int exit_record_write(const struct exit_record *e, const char *state_dir, const char *run_dir,
                      struct error *err);
int exit_record_read(const char *state_dir, const char *run_dir, const char *pod_uid,
                     struct exit_record **ret_record, struct error *err);
int exit_record_blank(const char *state_dir);
DEFINE_CLEANUP(struct exit_record, exit_record_free)

/* The kernel has killed that many processes of the job for lack of memory. If
 * there are any, the job has failed: where its own exit code does not show that
 * (on v1 only a child is killed, and a script continues), the exit code becomes
 * 137.
 */
void exit_record_note_oom(struct exit_record *e, int64_t kills);

/* Whether the job could not be started for a reason of the node, and not
 * because of its user's requests or actions.
 */
bool exit_record_is_nodes_fault(const struct exit_record *e);

/* Formats the record, for a caller that can only use system calls when it
 * writes the record.
 */
struct strbuf;
void exit_record_format(const struct exit_record *e, struct strbuf *out);
