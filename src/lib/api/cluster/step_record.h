/* SPDX-License-Identifier: Apache-2.0 */
/* step_record.h - what is recorded of a step of a job, and how agents report it
 *
 * The agent of a job's first node keeps a record of each step, and reports those that are
 * new or have changed: POST nodes/NAME/steps. The controller adds whose they are, and
 * keeps them in history. A record may come twice, late, or after a later one: the
 * one of the end counts, and of others the one that was observed last.
 *
 * Thread:  any; plain data.
 * See:     controller/history/history_steps.h, agent/steps/step_records.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/record.h"

struct error;

/* A pod has records of the steps with ids below this; others are counted. */
#define STEP_RECORDS_MOST      10000
#define STEP_REPORT_STEPS_MOST 2000 /* of all pods in one report */
#define STEP_REPORT_PODS_MOST  500
#define STEP_TEXT_MOST         256 /* bytes of a name, a command, a list of nodes */

struct step_record {
    int64_t id;
    const char *name;
    const char *command;
    const char *nodes; /* a list: "n[1-4]" */
    int64_t node_count;
    int64_t tasks;
    int64_t cpus; /* of all nodes */
    int64_t start_at_us;
    int64_t end_at_us;        /* 0: it runs */
    const char *state;        /* a name of job_state.h */
    const int64_t *exit_code; /* the highest of its tasks'; NULL: not known */
    int64_t signal;           /* that has ended the task with the highest */
    const int64_t *cpu_user_us, *cpu_system_us;
    const int64_t *peak_memory_bytes; /* of one process */
    const int64_t *ended_by;  /* a uid; also while it still runs. NULL: nobody, or not known */
    int64_t time_limit_s;     /* its own; 0: none */
    const char *distribution; /* as it was asked for; NULL: not at all */
    const char *host;         /* of its krun; NULL: another node */
    int64_t host_pid;
    const char *submit_line;
    int64_t observed_at_us;
};
extern const struct record step_record_record;

/* Of one pod, in a report, in the queue of history and in the records that controllers
 * share. An agent tells only the pod, omitted and steps; the controller the rest.
 */
struct step_batch {
    const char *namespace;
    const char *pod;
    const char *pod_uid;
    const char *node; /* that has reported it */
    bool is_of_row; /* the pod is gone: whose it was, and that it was of the node, is in history */
    int64_t job_id; /* 0: a pod without a Job */
    const char *job_uid;
    const int64_t *index, *task;
    int64_t attempt; /* from 1 */
    const char *user;
    int64_t uid;
    const char *account;
    int64_t omitted; /* steps without a record */
    LIST_OF(struct step_record) steps;
};
extern const struct record step_batch_record;

struct step_report {
    LIST_OF(struct step_batch) pods;
};
extern const struct record step_report_record;

/* Whether a controller may keep the batch as an agent has sent it: -EINVAL. */
int step_batch_check(const struct step_batch *batch, struct error *err);
