/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/topology_text.h"

#include <string.h>

#include "cli/print/human.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/node/topology.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define LINE_WIDTH 72u /* of the cores */

struct text_drawing {
    const struct topology *t;
    const struct topology_tenant *tenants;
    size_t n_tenants;
    bool has_colours;
    struct strbuf *out;
};

char
topology_tenant_mark(size_t tenant)
{
    static const char marks[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789";

    return tenant < sizeof(marks) - 1 ? marks[tenant] : '*';
}

size_t
topology_tenant_of_device(const struct topology_tenant *tenants, size_t n_tenants,
                          const char *device)
{
    for (size_t i = 0; i < n_tenants; i++)
        for (size_t d = 0; d < tenants[i].n_devices; d++)
            if (strcmp(tenants[i].devices[d], device) == 0)
                return i;
    return n_tenants;
}

int64_t
topology_tenants_memory(const struct topology_tenant *tenants, size_t n_tenants, unsigned numa)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n_tenants; i++)
        if (tenants[i].memory != NULL)
            sum += tenants[i].memory[numa];
    return sum;
}

/* Tenants next to each other in the list get different colours. */
static enum terminal_colour
terminal_colour_of_tenant(size_t tenant)
{
    static const enum terminal_colour colours[] = {COLOUR_CYAN,    COLOUR_YELLOW, COLOUR_GREEN,
                                                   COLOUR_MAGENTA, COLOUR_BLUE,   COLOUR_RED};

    return colours[tenant % ARRAY_SIZE(colours)];
}

static void
draw_mark(const struct text_drawing *d, enum terminal_colour colour, char mark)
{
    if (d->has_colours && colour != COLOUR_PLAIN)
        strbuf_printf(d->out, "%s%c%s", terminal_colour_start(colour), mark, terminal_colour_end);
    else
        strbuf_add_char(d->out, mark);
}

static void
draw_pu(const struct text_drawing *d, unsigned pu)
{
    for (size_t i = 0; i < d->n_tenants; i++) {
        if (bitset_has(&d->tenants[i].cpus, pu)) {
            draw_mark(d, terminal_colour_of_tenant(i), topology_tenant_mark(i));
            return;
        }
        if (bitset_has(&d->tenants[i].withheld, pu)) {
            draw_mark(d, terminal_colour_of_tenant(i), '-');
            return;
        }
    }
    draw_mark(d, COLOUR_DIM, '.');
}

static bool
is_free(const struct text_drawing *d, const struct bitset *pus)
{
    for (size_t i = 0; i < d->n_tenants; i++)
        if (bitset_intersects(pus, &d->tenants[i].cpus)
            || bitset_intersects(pus, &d->tenants[i].withheld))
            return false;
    return true;
}

static bool
shares_l2(const struct text_drawing *d, const struct bitset *core)
{
    unsigned pu = bitset_next(core, 0);
    uint16_t l2 = pu < d->t->n_pu ? d->t->pu[pu].l2 : TOPOLOGY_NONE;

    return l2 != TOPOLOGY_NONE && !bitset_contains(core, &d->t->l2[l2].pus);
}

/* Whether this core starts another L2 cache than the core before it, if one of
 * the two caches has several cores.
 */
static bool
begins_l2(const struct text_drawing *d, const struct bitset *core, const struct bitset *before)
{
    if (before == NULL || (!shares_l2(d, core) && !shares_l2(d, before)))
        return false;
    return d->t->pu[bitset_next(core, 0)].l2 != d->t->pu[bitset_next(before, 0)].l2;
}

/* Draws the cores that have a PU in the set, a few on each line. Cores that
 * share an L2 cache are drawn together, after a wider gap.
 */
static void
draw_cores(const struct text_drawing *d, const struct bitset *set, const char *label,
           unsigned indent)
{
    const struct bitset *before = NULL;
    unsigned column = 0;
    bool any = false;

    for (unsigned i = 0; i < d->t->n_cores; i++) {
        const struct bitset *pus = &d->t->cores[i].pus;
        unsigned width = bitset_count(pus) + 1;
        bool is_apart;

        if (!bitset_intersects(pus, set))
            continue;
        is_apart = begins_l2(d, pus, before);
        width += is_apart;
        before = pus;
        if (!any || column + width > LINE_WIDTH) {
            strbuf_printf(d->out, "%s%*s%-4s", any ? "\n" : "", (int)indent, "", any ? "" : label);
            column = 0;
            is_apart = false;
        }
        any = true;
        strbuf_add_text(d->out, is_apart ? "  " : " ");
        bitset_foreach(pu, pus) draw_pu(d, pu);
        column += width;
    }
    if (any)
        strbuf_add_char(d->out, '\n');
}

/* A cache whose cores are in several NUMA nodes is drawn in each of them. */
static void
draw_caches(const struct text_drawing *d, const struct bitset *set, unsigned indent)
{
    struct bitset rest = *set;

    for (unsigned i = 0; i < d->t->n_l3; i++) {
        struct bitset part = d->t->l3[i].pus;

        bitset_and(&part, set);
        if (bitset_is_empty(&part))
            continue;
        draw_cores(d, &part, "L3", indent);
        bitset_and_not(&rest, &part);
    }
    if (!bitset_is_empty(&rest))
        draw_cores(d, &rest, "", indent);
}

static void
draw_devices(const struct text_drawing *d, unsigned numa, unsigned indent)
{
    for (unsigned i = 0; i < d->t->n_devices; i++) {
        const struct topology_device *device = &d->t->devices[i];
        size_t tenant;

        if (device->numa != numa)
            continue;
        tenant = topology_tenant_of_device(d->tenants, d->n_tenants, device->name);
        strbuf_printf(d->out, "%*s", (int)indent, "");
        if (tenant < d->n_tenants)
            draw_mark(d, terminal_colour_of_tenant(tenant), topology_tenant_mark(tenant));
        else
            draw_mark(d, COLOUR_DIM, '.');
        strbuf_printf(d->out, " %s (%s%s%s)\n", device->name, device->type,
                      device->model != NULL ? ", " : "",
                      device->model != NULL ? device->model : "");
    }
}

/* The free part is printed only if tenants have some of the memory. */
static void
draw_memory(const struct text_drawing *d, unsigned place)
{
    int64_t held = topology_tenants_memory(d->tenants, d->n_tenants, place);
    int64_t left = (int64_t)d->t->numa[place].memory_bytes - held;
    char text[HUMAN_TEXT_SIZE];

    if (held == 0)
        return;
    human_bytes(left > 0 ? left : 0, text);
    strbuf_printf(d->out, ", %s of memory", text);
}

static void
draw_numa(const struct text_drawing *d, unsigned place, unsigned indent)
{
    const struct topology_numa *numa = &d->t->numa[place];
    char memory[HUMAN_TEXT_SIZE];
    unsigned cores = 0;
    unsigned free_cores = 0;

    for (unsigned i = 0; i < d->t->n_cores; i++) {
        if (!bitset_intersects(&d->t->cores[i].pus, &numa->pus))
            continue;
        cores++;
        free_cores += is_free(d, &d->t->cores[i].pus);
    }
    human_bytes((int64_t)numa->memory_bytes, memory);
    strbuf_printf(d->out, "%*sNUMA node %u   %s%s%s   ", (int)indent, "", numa->os_index, memory,
                  numa->kind != TOPOLOGY_MEMORY_PLAIN ? " " : "", topology_memory_name(numa->kind));
    if (cores > 0)
        strbuf_printf(d->out, "%u of %u cores free", free_cores, cores);
    else
        strbuf_add_text(d->out, "memory only");
    draw_memory(d, place);
    strbuf_add_char(d->out, '\n');
    draw_caches(d, &numa->pus, indent + 2);
    draw_devices(d, place, indent + 2);
}

/* The die that contains all these PUs, or TOPOLOGY_NONE. */
static unsigned
die_of(const struct text_drawing *d, const struct bitset *pus)
{
    for (unsigned i = 0; i < d->t->n_dies && !bitset_is_empty(pus); i++)
        if (bitset_contains(&d->t->dies[i].pus, pus))
            return i;
    return TOPOLOGY_NONE;
}

/* Draws the NUMA nodes of one package, or those without a package, below their
 * dies.
 */
static void
draw_numas(const struct text_drawing *d, unsigned package, unsigned indent)
{
    unsigned die_before = TOPOLOGY_NONE;

    for (unsigned i = 0; i < d->t->n_numa; i++) {
        unsigned die = die_of(d, &d->t->numa[i].pus);

        if (d->t->numa[i].package != package)
            continue;
        if (die != TOPOLOGY_NONE && die != die_before)
            strbuf_printf(d->out, "%*sdie %u\n", (int)indent, "", die);
        draw_numa(d, i, indent + (die != TOPOLOGY_NONE ? 2 : 0));
        die_before = die;
    }
}

void
topology_text_print(const struct topology *topology, const struct topology_tenant *tenants,
                    size_t n_tenants, bool has_colours, struct strbuf *out)
{
    const struct text_drawing d = {
        .t = topology,
        .tenants = tenants,
        .n_tenants = n_tenants,
        .has_colours = has_colours,
        .out = out,
    };

    for (unsigned i = 0; i < topology->n_packages; i++) {
        strbuf_printf(out, "package %u\n", i);
        draw_numas(&d, i, 2);
    }
    draw_numas(&d, TOPOLOGY_NONE, 0);
    draw_devices(&d, TOPOLOGY_NONE, 0);
}
