/* SPDX-License-Identifier: Apache-2.0 */
/* odd_machines.h - small random topologies without any regularity
 *
 * One to five NUMA nodes with zero to six cores of one or two PUs, memory of
 * different sizes, some without any, one or two packages, L3 caches of two
 * cores or none, and distances, huge pages and devices on some nodes.
 */
#pragma once

#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#define ODD_MAX_NUMA  5u
#define ODD_MAX_CORES 6u

struct odd_machine {
    unsigned n_numa, n_pus;
    unsigned memory_gib, n_devices;
};

struct odd_draft {
    struct random_source *dice;
    unsigned cores[ODD_MAX_NUMA];
    unsigned threads[ODD_MAX_NUMA * ODD_MAX_CORES];
    unsigned first_pu[ODD_MAX_NUMA * ODD_MAX_CORES];
    unsigned n_cores;
};

static inline unsigned
odd_below(struct odd_draft *d, unsigned below)
{
    return (unsigned)random_below(d->dice, below);
}

static inline void
odd_add_core(const struct odd_draft *d, struct strbuf *s, unsigned core)
{
    for (unsigned t = 0; t < d->threads[core]; t++)
        strbuf_printf(s, "%s%u", t > 0 ? "," : "", d->first_pu[core] + t);
}

/* Adds the cores from `from` to `to` - 1. */
static inline void
odd_add_cores(const struct odd_draft *d, struct strbuf *s, unsigned from, unsigned to)
{
    strbuf_add_char(s, '"');
    for (unsigned core = from; core < to; core++) {
        if (core > from)
            strbuf_add_char(s, ',');
        odd_add_core(d, s, core);
    }
    strbuf_add_char(s, '"');
}

static inline void
odd_add_groups(const struct odd_draft *d, struct strbuf *s, const char *name, unsigned size)
{
    strbuf_printf(s, ",\"%s\":[", name);
    for (unsigned core = 0; core < d->n_cores; core += size) {
        unsigned to = core + size < d->n_cores ? core + size : d->n_cores;

        if (core > 0)
            strbuf_add_char(s, ',');
        odd_add_cores(d, s, core, to);
    }
    strbuf_add_char(s, ']');
}

static inline void
odd_add_numa(struct odd_draft *d, struct strbuf *s, struct odd_machine *m, unsigned numa,
             unsigned first_core)
{
    unsigned gib = odd_below(d, 5) > 0 ? 1 + odd_below(d, 8) : 0;

    strbuf_printf(s, "%s{\"node\":%u,\"cpus\":", numa > 0 ? "," : "", numa);
    odd_add_cores(d, s, first_core, first_core + d->cores[numa]);
    strbuf_printf(s, ",\"memory\":\"%uGi\"", gib);
    m->memory_gib += gib;
    strbuf_add_text(s, ",\"distances\":[");
    for (unsigned i = 0; i < m->n_numa; i++)
        strbuf_printf(s, "%s%u", i > 0 ? "," : "", i == numa ? 10 : 10 + 2 * ((i + numa) % 4 + 1));
    strbuf_add_char(s, ']');
    if (odd_below(d, 2) == 0)
        strbuf_printf(s, ",\"hugepages\":{\"2Mi\":\"%u\"}", odd_below(d, 3) * 4);
    strbuf_add_char(s, '}');
}

static inline void
odd_add_devices(struct odd_draft *d, struct strbuf *s, struct odd_machine *m)
{
    m->n_devices = odd_below(d, 5);
    strbuf_add_text(s, ",\"devices\":[");
    for (unsigned i = 0; i < m->n_devices; i++) {
        unsigned numa = odd_below(d, m->n_numa + 1);

        strbuf_printf(s, "%s{\"name\":\"d%u\",\"type\":\"%s\"", i > 0 ? "," : "", i,
                      odd_below(d, 3) > 0 ? "gpu" : "nic");
        if (numa < m->n_numa)
            strbuf_printf(s, ",\"node\":%u", numa);
        strbuf_add_char(s, '}');
    }
    strbuf_add_char(s, ']');
}

/* Draws a machine and writes the wire form of its topology. */
static inline struct odd_machine
odd_machine(struct random_source *dice, struct strbuf *s)
{
    struct odd_draft d = {.dice = dice};
    struct odd_machine m = {0};
    unsigned even = odd_below(&d, 3), first = 0, half;

    m.n_numa = 1 + odd_below(&d, ODD_MAX_NUMA);
    for (unsigned i = 0; i < m.n_numa; i++) {
        d.cores[i] = i == 0 ? 1 + odd_below(&d, ODD_MAX_CORES) : odd_below(&d, ODD_MAX_CORES + 1);
        for (unsigned c = 0; c < d.cores[i]; c++) {
            d.threads[d.n_cores] = even > 0 ? even : 1 + odd_below(&d, 2);
            d.first_pu[d.n_cores++] = m.n_pus;
            m.n_pus += d.threads[d.n_cores - 1];
        }
    }
    half = d.cores[0] < d.n_cores && odd_below(&d, 2) ? d.cores[0] : d.n_cores;
    strbuf_printf(s, "{\"cpus\":\"0-%u\",\"packages\":[", m.n_pus - 1);
    odd_add_cores(&d, s, 0, half);
    if (half < d.n_cores) {
        strbuf_add_char(s, ',');
        odd_add_cores(&d, s, half, d.n_cores);
    }
    strbuf_add_char(s, ']');
    if (odd_below(&d, 2) == 0)
        odd_add_groups(&d, s, "l3", 2);
    odd_add_groups(&d, s, "cores", 1);
    strbuf_add_text(s, ",\"numaNodes\":[");
    for (unsigned i = 0; i < m.n_numa; i++) {
        odd_add_numa(&d, s, &m, i, first);
        first += d.cores[i];
    }
    strbuf_add_char(s, ']');
    odd_add_devices(&d, s, &m);
    strbuf_add_char(s, '}');
    return m;
}
