/* SPDX-License-Identifier: Apache-2.0 */
/* log_replay.h - runs a log of jobs through the real scheduler, on a fake clock
 *
 * A job has as many pods as it needs nodes; several pods form one group, which
 * is placed completely or not at all. The events of one second are handled in
 * this order: all ends, all submissions, then the scheduler works until nothing
 * changes. The scheduler knows limits, never run times.
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
    bool has_equal_members; /* of a job wider than a node; else the last has the rest */
    uint64_t seed;
    const struct kube_configuration *configuration; /* NULL: the default */
    bool predicts;                                  /* asks for the start of each waiting job */
    unsigned looks; /* how often START is read again between two events, every 5 seconds */
};

struct log_replay_figures {
    int64_t wall_us; /* of the whole replay */
    int64_t cpu_us;
    uint64_t attempts; /* pods that the scheduler has tried */
    size_t n_asked;    /* waiting jobs whose START was requested */
    size_t n_told;     /* those with a prediction */
    double error_s;    /* mean difference between prediction and start */
    double late_s;     /* mean delay of the start after the prediction */
    double median_s;   /* half of the errors are at most this large */
    size_t n_exact;    /* started in the very second that was told */
    size_t n_looked;   /* STARTs that were read again, although nothing had happened */
    size_t n_moved;    /* those that were another time than before */
    size_t most_waiting;
};

/* Sets the jobs' starts. -EINVAL when a job is too wide for one group; -EDEADLK
 * when jobs wait and no event is left.
 */
int log_replay_run(struct job_log *log, const struct log_replay_settings *settings,
                   struct log_replay_figures *ret_figures, struct error *err);
