/* SPDX-License-Identifier: Apache-2.0 */
/* job_last_run.h - the run of the Job's pod that ended last
 *
 * A struct job_run (status.lastRun) that owns its texts. If a Job has several
 * pods and fails, its other pods are ended after the failure; they are not how
 * the Job ended. With fail-fast, the first failure is.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct pod;

struct job_last_run {
    char *pod_name; /* NULL: no pod has ended */
    char *node_name;
    char *reason;
    char *message;
    bool is_failure; /* it counts as a failure of the job */
    bool was_ended;  /* because somebody deleted the pod or cancelled the job */
    int64_t started_at_us;
    int64_t finished_at_us;
    int64_t frozen_us; /* of the run: how long the pod was frozen */
    bool has_exit_code;
    int64_t exit_code;
    int64_t signal;
    bool has_usage;
    int64_t peak_memory_bytes, user_cpu_us, system_cpu_us;
};

/* Life. Load reads the run from the status. */
void job_last_run_fini(struct job_last_run *run);
void job_last_run_load(struct job_last_run *run, const struct job *job);

/* One word for why a pod ended without success: the pod's own reason, the
 * reason of its disruption, or that of its process; NULL: none is known.
 */
const char *job_last_run_reason(const struct pod *pod);

enum run_choice {
    RUN_LAST,          /* the job has one pod at a time */
    RUN_OWN_END,       /* rather a pod that has ended by itself */
    RUN_FIRST_FAILURE, /* of an array with fail-fast */
    RUN_WORST_FAILURE, /* of another array: a failure rather than a success, by its code */
    RUN_LEADER,        /* pod 0 of the newest attempt, which runs the script */
    RUN_HIGHEST_CODE,  /* of the newest attempt, the pod with the highest code */
};

enum run_choice job_last_run_choose(const struct job *job);

/* Note: a pod that has ended, as it was last seen; whether it has failed.
 * Note_gone: a pod that was deleted before its end was reported.
 */
void job_last_run_note(struct job_last_run *run, enum run_choice choice, const struct pod *pod,
                       bool is_failure);
void job_last_run_note_gone(struct job_last_run *run, enum run_choice choice,
                            const struct pod *pod);
