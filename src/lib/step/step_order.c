/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_order.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"

static bool
is_sorted(const uint16_t *order, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (order[i] < order[i - 1])
            return false;
    return true;
}

static int
compare(const void *a, const void *b, void *topology)
{
    const uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;
    const struct topology *t = topology;

    return t->pu[x].core != t->pu[y].core ? (int)t->pu[x].core - (int)t->pu[y].core
                                          : (int)x - (int)y;
}

const uint16_t *
step_order_make(const struct bitset *cpus, const struct topology *topology, uint16_t *memory)
{
    unsigned n = 0;

    if (topology == NULL || !bitset_contains(&topology->pus, cpus))
        return NULL;
    bitset_foreach(cpu, cpus) memory[n++] = (uint16_t)cpu;
    qsort_r(memory, n, sizeof(*memory), compare, (void *)(uintptr_t)topology);
    return is_sorted(memory, n) ? NULL : memory;
}

void
step_order_format(const struct bitset *cpus, const uint16_t *order, struct strbuf *out)
{
    const unsigned n = bitset_count(cpus);

    if (order == NULL) {
        cpuset_format(cpus, out);
        return;
    }
    for (unsigned i = 0, length; i < n; i += length) {
        for (length = 1; i + length < n && order[i + length] == order[i] + length; length++)
            ;
        strbuf_printf(out, "%s%u", i > 0 ? "," : "", order[i]);
        if (length > 1)
            strbuf_printf(out, "-%u", order[i] + length - 1);
    }
}

/* The text is a list: cpuset_parse has read it. */
int
step_order_parse(struct arena *arena, const char *text, struct bitset *ret_cpus,
                 const uint16_t **ret_order)
{
    struct bitset seen = {0};
    uint16_t *order;
    unsigned n = 0;
    int r = cpuset_parse(text, ret_cpus, NULL);

    if (r < 0)
        return r;
    order = arena_new_array(arena, uint16_t, bitset_count(ret_cpus));
    for (const char *at = text; *at != '\0'; at += *at == ',') {
        char *end;
        unsigned long cpu = strtoul(at, &end, 10), last = cpu;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (; cpu <= last; cpu++) {
            if (!bitset_has(&seen, (unsigned)cpu))
                order[n++] = (uint16_t)cpu;
            bitset_add(&seen, (unsigned)cpu);
        }
        at = end;
    }
    *ret_order = is_sorted(order, n) ? NULL : order;
    return 0;
}
