/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/free_capacity.h"

#include <stdbool.h>
#include <stdio.h>

#include "cli/kctl/output/describe_output.h"
#include "cli/outlook/outlook.h"
#include "cli/print/human.h"
#include "lib/base/strbuf.h"

#define NEAREST 3u
#define GIB     (INT64_C(1) << 30)
#define MIB     (INT64_C(1) << 20)

/* The free share of the scarcer amount, CPUs or memory, of the request. */
static double
share(const struct outlook_node *r, int64_t mcpu, int64_t bytes)
{
    double cpu = mcpu > 0 ? (double)r->free_mcpu / (double)mcpu : 1;
    double memory = bytes > 0 ? (double)r->free_bytes / (double)bytes : 1;

    cpu = cpu > 1 ? 1 : cpu;
    memory = memory > 1 ? 1 : memory;
    return cpu < memory ? cpu : memory;
}

static void
format_cpus(int64_t mcpu, char out[HUMAN_TEXT_SIZE])
{
    if (mcpu % 1000 == 0)
        snprintf(out, HUMAN_TEXT_SIZE, "%lld", (long long)mcpu / 1000);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%.1f", (double)mcpu / 1000);
}

static void
tell_room(const struct outlook_node *r, bool is_first, struct strbuf *out)
{
    char cpus[HUMAN_TEXT_SIZE], all_cpus[HUMAN_TEXT_SIZE];
    char memory[HUMAN_TEXT_SIZE], all_memory[HUMAN_TEXT_SIZE];

    format_cpus(r->free_mcpu > 0 ? r->free_mcpu : 0, cpus);
    format_cpus(r->has_mcpu, all_cpus);
    human_bytes(r->free_bytes > 0 ? r->free_bytes : 0, memory);
    human_bytes(r->has_bytes, all_memory);
    describe_output_add(out,
                        2,
                        is_first ? "Nearest" : "",
                        "%s has %s of %s CPUs and %s of %s of memory free",
                        r->name,
                        cpus,
                        all_cpus,
                        memory,
                        all_memory);
}

static void
tell_nearest(const struct outlook *o,
             int64_t mcpu,
             int64_t bytes,
             struct strbuf *out)
{
    const struct outlook_node *nearest[NEAREST];
    unsigned count = 0;

    for (unsigned i = 0; i < o->n_nodes; i++) {
        const struct outlook_node *r = &o->nodes[i];
        unsigned at = count;

        if (!r->is_open)
            continue;
        while (at > 0
               && share(r, mcpu, bytes) > share(nearest[at - 1], mcpu, bytes))
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--)
            nearest[j] = nearest[j - 1];
        nearest[at] = r;
    }
    for (unsigned i = 0; i < count; i++)
        tell_room(nearest[i], i == 0, out);
}

/* A whole number of what people ask for: never more than there is. */
static int64_t
round_bytes(int64_t bytes)
{
    return bytes >= 8 * GIB ? bytes / GIB * GIB : bytes / MIB * MIB;
}

static int64_t
round_mcpu(int64_t mcpu)
{
    return mcpu / 1000 * 1000;
}

/* The most that one node has of the one amount, where there is enough of the
 * other; 0: of neither.
 */
static int64_t
most(const struct outlook *o, int64_t mcpu, int64_t bytes, bool of_memory)
{
    int64_t best = 0;

    for (unsigned i = 0; i < o->n_nodes; i++) {
        const struct outlook_node *r = &o->nodes[i];
        int64_t has;

        if (!r->is_open
            || (of_memory ? r->free_mcpu < mcpu : r->free_bytes < bytes))
            continue;
        has = of_memory ? round_bytes(r->free_bytes) : round_mcpu(r->free_mcpu);
        best = has > best ? has : best;
    }
    return best;
}

static unsigned
count_fitting(const struct outlook *o, int64_t mcpu, int64_t bytes)
{
    unsigned count = 0;

    for (unsigned i = 0; i < o->n_nodes; i++)
        count += o->nodes[i].is_open && o->nodes[i].free_mcpu >= mcpu
                 && o->nodes[i].free_bytes >= bytes;
    return count;
}

static void
tell_fit(unsigned count, const char *option, bool is_first, struct strbuf *out)
{
    describe_output_add(out,
                        2,
                        is_first ? "Would fit" : "",
                        "on %u node%s with %s or less",
                        count,
                        count == 1 ? "" : "s",
                        option);
}

/* Uses the options of ksub. */
static void
tell_fits(const struct outlook *o,
          int64_t mcpu,
          int64_t bytes,
          struct strbuf *out)
{
    int64_t less_bytes = most(o, mcpu, bytes, true);
    int64_t less_mcpu = most(o, mcpu, bytes, false);
    char option[64];
    bool is_first = true;

    if (less_bytes > 0 && less_bytes < bytes) {
        snprintf(option,
                 sizeof(option),
                 less_bytes % GIB == 0 ? "--mem %lldG" : "--mem %lldM",
                 (long long)(less_bytes % GIB == 0 ? less_bytes / GIB
                                                   : less_bytes / MIB));
        tell_fit(count_fitting(o, mcpu, less_bytes), option, is_first, out);
        is_first = false;
    }
    if (less_mcpu > 0 && less_mcpu < mcpu) {
        snprintf(option,
                 sizeof(option),
                 "-c %lld",
                 (long long)less_mcpu / 1000);
        tell_fit(count_fitting(o, less_mcpu, bytes), option, is_first, out);
    }
}

void
free_capacity_describe(const struct outlook *outlook,
                       int64_t mcpu,
                       int64_t bytes,
                       struct strbuf *out)
{
    tell_nearest(outlook, mcpu, bytes, out);
    tell_fits(outlook, mcpu, bytes, out);
}
