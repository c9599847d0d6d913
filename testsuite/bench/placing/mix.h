/* SPDX-License-Identifier: Apache-2.0 */
/* mix.h - the generated job mix, and its runs with several strategies
 *
 * Sizes of 1 to 64 cores, uniform or mostly small powers of two; 1, 2 or 4 GiB
 * per core; one job in ten with GPUs; exponential run times; arrivals a tenth
 * above the capacity of the machines. The first ten jobs of the queue are
 * tried, in order of arrival, and those that fit start. All strategies get the
 * same jobs.
 */
#pragma once

struct mix_result {
    double aligned;     /* share of jobs on the fewest possible NUMA nodes */
    double utilization; /* of cores, once the queue is full */
    double width_1;     /* share of jobs on one NUMA node */
    double mean_cores;  /* of the placed jobs */
    unsigned placed;
    unsigned refused; /* after the binding */
};

enum mix_strategy {
    MIX_FIRST_FIT, /* blind: the first node with enough free resources */
    MIX_SPREAD,    /* blind: the node with the most free resources */
    MIX_REJECTED,  /* first fit; the node refuses unaligned jobs */
    MIX_KILN_BEST_EFFORT,
    MIX_KILN_RESTRICTED,
    MIX_STRATEGIES,
};

extern const char *const mix_names[MIX_STRATEGIES];

enum mix_sizes {
    MIX_EVEN,
    MIX_POPULAR,
};

struct mix_result mix_run(enum mix_strategy strategy, enum mix_sizes sizes, unsigned nodes);
