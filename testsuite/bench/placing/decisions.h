/* SPDX-License-Identifier: Apache-2.0 */
/* decisions.h - how long a decision takes, on nodes of 8 NUMA nodes, 128 cores
 * and 256 PUs each, half of their cores taken
 */
#pragma once

struct decisions_result {
    double look_ns; /* NumaFit's filter and score, each node */
    double per_s;   /* decisions: choose, assume, reserve */
    unsigned placed, refused;
};

/* The largest nodes there can be: 1,024 PUs in 64 NUMA nodes, half taken. */
struct decisions_large {
    double look_ns;     /* filter and score, each node */
    double decision_us; /* whole, among four nodes; and taken back */
};
struct decisions_large decisions_run_large(unsigned cpus,
                                           const char *numa_policy);

/* Pods of `kinds` shapes in turn; as many as pods: each has its own. */
struct decisions_result
decisions_run(unsigned nodes, unsigned pods, unsigned kinds);
