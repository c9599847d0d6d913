/* SPDX-License-Identifier: Apache-2.0 */
/* job_last_run.h - how the pod of a Job that ended last has run
 *
 * A struct job_run (status.lastRun) that owns its texts.
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_status;
struct pod;

struct job_last_run {
    char *pod_name; /* NULL: none has ended */
    char *node_name;
    char *reason;
    char *message;
    int64_t started_at_us;
    int64_t finished_at_us;
    int64_t frozen_us; /* of that it stood still */
    bool has_exit_code;
    int64_t exit_code;
    int64_t signal;
    bool has_usage;
    int64_t peak_memory_bytes, user_cpu_us, system_cpu_us;
};

/* Life: as the status has it. */
void job_last_run_fini(struct job_last_run *run);
void job_last_run_load(struct job_last_run *run,
                       const struct job_status *status);

/* One word on how a pod has ended that did not succeed: its own reason, the one
 * for which it was pushed out, or its process's; NULL: none is known.
 */
const char *job_last_run_reason(const struct pod *pod);

/* A pod that has ended, as it was last seen; gone: before it told of an end. */
void job_last_run_note(struct job_last_run *run, const struct pod *pod);
void job_last_run_note_gone(struct job_last_run *run, const struct pod *pod);
