/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/node_summary.h"

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/strbuf.h"

static void
count(struct strbuf *out, unsigned n, const char *what)
{
    strbuf_printf(out, "%s%u %s%s", out->length > 0 ? ", " : "", n, what, n == 1 ? "" : "s");
}

/* Counts the NUMA nodes by their kind of memory. */
static void
count_kinds(struct strbuf *out, const struct topology *t)
{
    const char *separator = " (";

    for (enum topology_memory kind = TOPOLOGY_MEMORY_PLAIN + 1; kind <= TOPOLOGY_MEMORY_SPM;
         kind++) {
        unsigned n = 0;

        for (unsigned i = 0; i < t->n_numa; i++)
            n += t->numa[i].kind == kind;
        if (n == 0)
            continue;
        strbuf_printf(out, "%s%u of %s", separator, n, topology_memory_name(kind));
        separator = ", ";
    }
    if (separator[0] == ',')
        strbuf_add_char(out, ')');
}

void
node_summary_add(const struct topology *t, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    count(&text, t->n_packages, "package");
    if (t->n_dies > 0)
        count(&text, t->n_dies, "die");
    count(&text, t->n_numa, "NUMA node");
    count_kinds(&text, t);
    if (t->n_l3 > 0)
        count(&text, t->n_l3, "L3 cache");
    count(&text, t->n_cores, "core");
    count(&text, bitset_count(&t->pus), "CPU");
    strbuf_add(out, text.text, text.length);
}

void
node_summary_reserved_cpus(const struct topology *t, node_summary_sentence_fn *visit, void *context)
{
    const struct {
        const struct bitset *cpus;
        const char *what;
    } rows[] = {
        {&t->reserved, "reserved for the system"},
        {&t->isolated, bitset_intersects(&t->isolated, &t->pus)
                           ? "isolated (isolcpus), but offered to jobs"
                           : "isolated (isolcpus)"},
        {&t->offline, "offline"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        bool one = bitset_count(rows[i].cpus) == 1;

        if (bitset_is_empty(rows[i].cpus))
            continue;
        strbuf_add_text(&text, one ? "CPU " : "CPUs ");
        cpuset_format(rows[i].cpus, &text);
        strbuf_printf(&text, " %s %s", one ? "is" : "are", rows[i].what);
        visit(text.text, context);
    }
}
