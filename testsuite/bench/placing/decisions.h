/* SPDX-License-Identifier: Apache-2.0 */
/* decisions.h - the duration of a decision, on nodes of 8 NUMA nodes, 128 cores
 * and 256 PUs each, half of their cores allocated
 */
#pragma once

struct decisions_result {
    double look_ns; /* NumaFit's filter and score, per node */
    double per_s;   /* decisions: choose, assume, reserve */
    unsigned placed, refused;
};

/* The largest possible nodes: 1,024 PUs in 64 NUMA nodes, half allocated. */
struct decisions_large {
    double look_ns;     /* filter and score, per node */
    double decision_us; /* a whole one among four nodes, and its undoing */
};
struct decisions_large decisions_run_large(unsigned cpus, const char *numa_policy);

/* Pods of `kinds` shapes in turn; with as many kinds as pods each has its own
 * shape.
 */
struct decisions_result decisions_run(unsigned nodes, unsigned pods, unsigned kinds);
