/* SPDX-License-Identifier: Apache-2.0 */
/* mix.h - the generated job mix, and the runs it is put through
 *
 * Sizes 1 to 64 cores, evenly or mostly small powers of two; 1, 2 or 4 GiB for
 * each core; one job in ten with GPUs; run times exponential; arrivals a tenth
 * more than the machines can hold. First come, first served, the first ten of
 * the queue being looked at: what fits goes. The same jobs for every strategy.
 */
#pragma once

struct mix_result {
    double aligned; /* share of placed jobs on as few NUMA nodes as can be */
    double utilization; /* of cores, once the queue is full */
    double width_1;     /* share of jobs on one NUMA node */
    double mean_cores;  /* of the jobs that were placed */
    unsigned placed;
    unsigned refused; /* after they were bound */
};

enum mix_strategy {
    MIX_FIRST_FIT, /* blind: the first node with enough free */
    MIX_SPREAD,    /* blind: the node with most free */
    MIX_REJECTED,  /* first fit, and the node refuses what is not aligned */
    MIX_KILN_BEST_EFFORT,
    MIX_KILN_RESTRICTED,
    MIX_STRATEGIES,
};

extern const char *const mix_names[MIX_STRATEGIES];

enum mix_sizes {
    MIX_EVEN,
    MIX_POPULAR,
};

struct mix_result
mix_run(enum mix_strategy strategy, enum mix_sizes sizes, unsigned nodes);
