/* SPDX-License-Identifier: Apache-2.0 */
/* numa [decisions|large|mix|stream [NODES]] - placement: its speed and quality
 *
 * decisions: filter and score of NumaFit on each of 5,000 nodes of 256 PUs,
 * half full, and whole decisions per second through the real node finder, cache
 * and reservation; large: the same on the largest possible nodes. mix: a
 * generated job mix at saturation, compared with blind placement of the same
 * jobs, on 16, 64 and 256 nodes. stream: memory bandwidth, bound and not bound.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/bench/placing/decisions.h"
#include "testsuite/bench/placing/mix.h"
#include "testsuite/bench/placing/stream.h"

#define PODS 40000u

static void
show_decisions(unsigned nodes)
{
    static const unsigned kinds[] = {1, 8, 64, 512, PODS};

    printf("\ndecisions: %u nodes of 8 NUMA nodes x 16 cores x 2 PUs, half "
           "full, single-numa-node; in CPU time\n"
           "%10s %14s %14s %8s %8s\n",
           nodes, "shapes", "ns/node", "decisions/s", "placed", "refused");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct decisions_result r = decisions_run(nodes, PODS, kinds[i]);

        if (kinds[i] == PODS)
            printf("%10s", "each own");
        else
            printf("%10u", kinds[i]);
        printf(" %14.0f %14.0f %8u %8u\n", r.look_ns, r.per_s, r.placed, r.refused);
        fflush(stdout);
    }
    printf("target: >= 20000 decisions/s\n");
}

static void
show_large(void)
{
    static const struct {
        unsigned cpus;
        const char *policy;
    } rows[] = {
        {4, "single-numa-node"}, {16, "single-numa-node"}, {40, "restricted"}, {40, "best-effort"},
        {200, "restricted"},     {200, "best-effort"},     {400, "none"},
    };

    printf("\ndecisions: 4 nodes of 64 NUMA nodes x 8 cores x 2 PUs, half "
           "full; in CPU time\n"
           "%6s %18s %14s %16s\n",
           "CPUs", "policy", "ns/node", "us/decision");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct decisions_large r = decisions_run_large(rows[i].cpus, rows[i].policy);

        printf("%6u %18s %14.0f %16.1f\n", rows[i].cpus, rows[i].policy, r.look_ns, r.decision_us);
    }
}

static bool
is_met(const struct mix_result *r, const struct mix_result *blind)
{
    /* The limits match the precision of the output. */
    return r->aligned >= 0.9495 && r->refused == 0 && r->utilization >= blind->utilization - 0.0005;
}

static void
show_mix(unsigned nodes, enum mix_sizes sizes)
{
    struct mix_result results[MIX_STRATEGIES];

    printf("\nmix: %u nodes of 2 sockets x 4 NUMA nodes x 8 cores, a GPU on "
           "each; jobs of %s\n"
           "%-22s %8s %12s %10s %11s %8s %18s\n",
           nodes, sizes == MIX_EVEN ? "1 to 64 cores evenly" : "mostly 1, 2, 4, 8, 16 and 32 cores",
           "strategy", "aligned", "utilization", "on one", "mean cores", "placed",
           "refused, per 1000");
    for (unsigned i = 0; i < MIX_STRATEGIES; i++) {
        struct mix_result r = mix_run((enum mix_strategy)i, sizes, nodes);

        results[i] = r;
        printf("%-22s %8.3f %12.3f %10.3f %11.1f %8u %18.0f\n", mix_names[i], r.aligned,
               r.utilization, r.width_1, r.mean_cores, r.placed, 1000.0 * r.refused / r.placed);
        fflush(stdout);
    }
    printf("target: aligned >= 0.950 at a utilization no lower than blind "
           "first fit's, none refused: ");
    for (unsigned i = MIX_KILN_BEST_EFFORT; i <= MIX_KILN_RESTRICTED; i++)
        printf("%s%s", is_met(&results[i], &results[MIX_FIRST_FIT]) ? "met" : "missed",
               i == MIX_KILN_BEST_EFFORT ? " by best-effort, " : " by restricted\n");
}

static void
show_stream(void)
{
    struct stream_result r;
    struct error err = {0};

    printf("\nstream: triad, arrays of 128 MiB\n");
    if (stream_run(&r, &err) < 0)
        printf("skipped: %s\n", err.text);
    else
        printf("%u cores: bound by Kiln %.1f GB/s, unbound %.1f GB/s\n", r.cores, r.bound_gb_s,
               r.unbound_gb_s);
}

static bool
is_wanted(const char *wanted, const char *part)
{
    return wanted == NULL || strcmp(wanted, part) == 0;
}

int
main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL;
    unsigned nodes = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    struct utsname machine;

    uname(&machine);
    printf("# %s %s\n", machine.sysname, machine.release);
    if (is_wanted(wanted, "decisions"))
        show_decisions(nodes > 0 ? nodes : 5000);
    if (is_wanted(wanted, "decisions") || is_wanted(wanted, "large"))
        show_large();
    for (unsigned n = 16; is_wanted(wanted, "mix") && n <= 256; n *= 4) {
        if (nodes > 0 && nodes != n)
            continue;
        show_mix(n, MIX_EVEN);
        show_mix(n, MIX_POPULAR);
    }
    if (is_wanted(wanted, "stream"))
        show_stream();
    return EXIT_SUCCESS;
}
