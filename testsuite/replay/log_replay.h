/* SPDX-License-Identifier: Apache-2.0 */
/* log_replay.h - a log of jobs through the real scheduler, on a fake clock
 *
 * A job is as many pods as it needs nodes; when these are several they are one
 * group, placed all or none. What happens in one second comes in this order:
 * all ends, all submissions, then the scheduler works until nothing changes.
 * The scheduler is told limits, never run times.
 *
 * Thread:  one; the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct feature_gates;
struct job_log;
struct kube_configuration;

struct log_replay_settings {
    unsigned nodes, cores_per_node;
    uint64_t seed;
    const struct kube_configuration *configuration; /* NULL: the default */
    bool predicts; /* asks when each waiting job will start */
};

struct log_replay_figures {
    int64_t wall_us; /* of it all */
    int64_t cpu_us;
    uint64_t attempts; /* pods that the scheduler looked for a node for */
    size_t n_asked;    /* waiting jobs whose START was asked for */
    size_t n_told;     /* of them, with a time */
    double error_s;    /* mean distance of these from what came to be */
    double late_s;     /* mean of how long after it they started */
    size_t most_waiting;
};

/* Sets the jobs' starts. -EINVAL when a job is too wide for one group; -EDEADLK
 * when jobs wait and nothing runs or comes.
 */
int log_replay_run(struct job_log *log,
                   const struct log_replay_settings *settings,
                   struct log_replay_figures *ret_figures,
                   struct error *err);
