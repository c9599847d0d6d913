/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/topology_svg.h"

#include <string.h>

#include "cli/print/human.h"
#include "cli/print/svg_layout.h"
#include "cli/print/svg_text.h"
#include "cli/print/topology_text.h"
#include "lib/api/node/topology.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

/* All sizes are in pixels. */
#define CORE        24u
#define GAP         SVG_LAYOUT_GAP
#define PAD         10u
#define LABEL       18u
#define DEVICE      20u
#define LETTER      7u /* approximate width of a small letter */
#define WIDE_LETTER 8u /* ...and of one in a label */
#define CORES_WIDE  8u
#define NUMA_WIDTH  460u
#define PAGE_WIDTH  1000u
#define BAR         64u /* of memory */
#define BAR_HEIGHT  8u
#define GOLDEN_TURN 137u /* degrees between the hues of adjacent tenants */

struct plan {
    const struct topology *t;
    const struct topology_tenant *tenants;
    size_t n_tenants;
    struct svg_size numa; /* of the largest NUMA node; used for all */
    struct strbuf *out;   /* NULL: only measure */
};

static void
draw_text(const struct plan *p, unsigned x, unsigned y, const char *style, const char *text)
{
    if (p->out == NULL)
        return;
    strbuf_printf(p->out, "<text x=\"%u\" y=\"%u\" class=\"%s\">", x, y, style);
    svg_text_add(p->out, text);
    strbuf_add_text(p->out, "</text>\n");
}

static void
draw_box(const struct plan *p, unsigned x, unsigned y, struct svg_size size, const char *style)
{
    if (p->out != NULL)
        strbuf_printf(p->out,
                      "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
                      "rx=\"3\" class=\"%s\"/>\n",
                      x, y, size.width, size.height, style);
}

/* Cores */

static unsigned
hue(size_t tenant)
{
    return (unsigned)(tenant * GOLDEN_TURN + 210) % 360;
}

static void
draw_thread(const struct plan *p, unsigned pu, unsigned x, unsigned y, struct svg_size size)
{
    const char *who = "free";
    bool is_idle = false;
    size_t i = 0;

    while (i < p->n_tenants && !bitset_has(&p->tenants[i].cpus, pu)
           && !bitset_has(&p->tenants[i].withheld, pu))
        i++;
    strbuf_printf(p->out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" ", x, y, size.width,
                  size.height);
    if (i < p->n_tenants) {
        is_idle = !bitset_has(&p->tenants[i].cpus, pu);
        who = p->tenants[i].label != NULL ? p->tenants[i].label : "";
        strbuf_printf(p->out, "fill=\"hsl(%u,65%%,%s)\"", hue(i), is_idle ? "88%" : "60%");
    } else {
        strbuf_add_text(p->out, "fill=\"#fff\"");
    }
    strbuf_printf(p->out, "><title>CPU %u: ", pu);
    svg_text_add(p->out, who);
    strbuf_printf(p->out, "%s</title></rect>\n", is_idle ? " (idle)" : "");
}

static void
draw_core(const struct plan *p, unsigned core, unsigned x, unsigned y)
{
    const struct bitset *pus = &p->t->cores[core].pus;
    unsigned count = bitset_count(pus), i = 0;

    if (p->out == NULL)
        return;
    bitset_foreach(pu, pus)
    {
        unsigned from = CORE * i / count, to = CORE * (i + 1) / count;

        draw_thread(p, pu, x + from, y, (struct svg_size){to - from, CORE});
        if (from > 0)
            strbuf_printf(p->out, "<path d=\"M%u %uv%u\" class=\"thread\"/>\n", x + from, y, CORE);
        i++;
    }
    draw_box(p, x, y, (struct svg_size){CORE, CORE}, "core");
}

static unsigned
count_cores(const struct plan *p, const struct bitset *set)
{
    unsigned count = 0;

    for (unsigned i = 0; i < p->t->n_cores; i++)
        count += bitset_intersects(&p->t->cores[i].pus, set);
    return count;
}

static struct svg_size
lay_cores(const struct plan *p, const struct bitset *set, unsigned x, unsigned y)
{
    unsigned count = count_cores(p, set);
    unsigned wide = count > 32 ? 2 * CORES_WIDE : CORES_WIDE;
    struct svg_layout l = {
        .left = x,
        .x = x,
        .y = y,
        .limit = wide * (CORE + GAP) - GAP,
    };

    svg_layout_balance(&l, count, CORE);
    for (unsigned i = 0; i < p->t->n_cores; i++) {
        struct svg_size at;

        if (!bitset_intersects(&p->t->cores[i].pus, set))
            continue;
        at = svg_layout_place(&l, (struct svg_size){CORE, CORE});
        draw_core(p, i, at.width, at.height);
    }
    return (struct svg_size){l.most_width, l.y - y + l.line};
}

/* Caches */

static struct svg_size
lay_cache(const struct plan *p, const struct bitset *set, unsigned x, unsigned y)
{
    struct plan measure = *p;
    struct svg_size inner, size;

    measure.out = NULL;
    inner = lay_cores(&measure, set, 0, 0);
    size = (struct svg_size){inner.width + 2 * GAP, inner.height + LABEL + GAP};
    draw_box(p, x, y, size, "l3");
    draw_text(p, x + GAP, y + LABEL - 5, "small", "L3");
    lay_cores(p, set, x + GAP, y + LABEL);
    return size;
}

static void
place_cache(const struct plan *p, struct svg_layout *l, const struct bitset *set)
{
    struct plan measure = *p;
    struct svg_size at;

    measure.out = NULL;
    at = svg_layout_place(l, lay_cache(&measure, set, 0, 0));
    lay_cache(p, set, at.width, at.height);
}

static void
balance_caches(const struct plan *p, struct svg_layout *l, const struct bitset *set)
{
    struct plan measure = *p;
    unsigned count = 0, most = 0;

    measure.out = NULL;
    for (unsigned i = 0; i < p->t->n_l3; i++) {
        struct bitset part = p->t->l3[i].pus;
        unsigned width;

        bitset_and(&part, set);
        if (bitset_is_empty(&part))
            continue;
        count++;
        width = lay_cache(&measure, &part, 0, 0).width;
        if (width > most)
            most = width;
    }
    svg_layout_balance(l, count, most);
}

static void
place_caches(const struct plan *p, struct svg_layout *l, const struct bitset *set)
{
    struct bitset rest = *set;
    struct svg_size at, size;
    struct plan measure = *p;

    balance_caches(p, l, set);
    for (unsigned i = 0; i < p->t->n_l3; i++) {
        struct bitset part = p->t->l3[i].pus;

        bitset_and(&part, set);
        if (bitset_is_empty(&part))
            continue;
        place_cache(p, l, &part);
        bitset_and_not(&rest, &part);
    }
    if (bitset_is_empty(&rest))
        return;
    measure.out = NULL;
    size = lay_cores(&measure, &rest, 0, 0);
    at = svg_layout_place(l, size);
    lay_cores(p, &rest, at.width, at.height);
}

/* Devices */

static void
draw_device(const struct plan *p, const struct topology_device *d, unsigned x, unsigned y,
            struct svg_size size)
{
    size_t tenant = topology_tenant_of_device(p->tenants, p->n_tenants, d->name);

    if (p->out == NULL)
        return;
    strbuf_printf(p->out, "<g><title>%s: ", tenant < p->n_tenants ? "given" : "free");
    svg_text_add(p->out, d->model != NULL ? d->model : d->type);
    strbuf_printf(p->out,
                  "</title><rect x=\"%u\" y=\"%u\" width=\"%u\" "
                  "height=\"%u\" rx=\"8\" stroke=\"#555\" ",
                  x, y, size.width, size.height);
    if (tenant < p->n_tenants)
        strbuf_printf(p->out, "fill=\"hsl(%u,65%%,60%%)\"/>\n", hue(tenant));
    else
        strbuf_add_text(p->out, "fill=\"#fff\"/>\n");
    draw_text(p, x + 8, y + DEVICE - 6, "small", d->name);
    strbuf_add_text(p->out, "</g>\n");
}

static void
place_devices(const struct plan *p, struct svg_layout *l, unsigned numa)
{
    bool is_first = true;

    for (unsigned i = 0; i < p->t->n_devices; i++) {
        const struct topology_device *d = &p->t->devices[i];
        struct svg_size size = {(unsigned)strlen(d->name) * LETTER + 16, DEVICE};
        struct svg_size at;

        if (d->numa != numa)
            continue;
        if (is_first && l->line > 0) {
            l->x = l->left;
            l->y += l->line + GAP;
            l->line = 0;
        }
        is_first = false;
        at = svg_layout_place(l, size);
        draw_device(p, d, at.width, at.height, size);
    }
}

/* NUMA nodes, packages */

/* Draws each tenant's share of the memory. */
static void
draw_memory(const struct plan *p, unsigned place, unsigned x, unsigned y)
{
    const uint64_t all = p->t->numa[place].memory_bytes;
    uint64_t before = 0;

    draw_box(p, x, y, (struct svg_size){BAR, BAR_HEIGHT}, "memory");
    for (size_t i = 0; i < p->n_tenants && all > 0; i++) {
        uint64_t bytes = p->tenants[i].memory != NULL ? (uint64_t)p->tenants[i].memory[place] : 0;
        unsigned from = (unsigned)((double)before / (double)all * BAR), to;
        char text[HUMAN_TEXT_SIZE];

        if (bytes > all - before)
            bytes = all - before;
        before += bytes;
        to = (unsigned)((double)before / (double)all * BAR);
        if (bytes == 0)
            continue;
        human_bytes((int64_t)bytes, text);
        strbuf_printf(p->out,
                      "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
                      "fill=\"hsl(%u,65%%,60%%)\"><title>%s of memory: ",
                      x + from, y, to > from ? to - from : 1, BAR_HEIGHT, hue(i), text);
        svg_text_add(p->out, p->tenants[i].label != NULL ? p->tenants[i].label : "");
        strbuf_add_text(p->out, "</title></rect>\n");
    }
}

/* Draws "NUMA node 1, 64Gi, 14Gi free" and a bar; returns their width. */
static unsigned
draw_numa_label(const struct plan *p, unsigned place, unsigned x, unsigned y)
{
    const struct topology_numa *numa = &p->t->numa[place];
    CLEANUP_STRBUF struct strbuf label = STRBUF_INIT;
    int64_t held = topology_tenants_memory(p->tenants, p->n_tenants, place);
    int64_t left = (int64_t)numa->memory_bytes - held;
    char memory[HUMAN_TEXT_SIZE];

    human_bytes((int64_t)numa->memory_bytes, memory);
    strbuf_printf(&label, "NUMA node %u, %s%s%s%s", numa->os_index, memory,
                  numa->kind != TOPOLOGY_MEMORY_PLAIN ? " " : "", topology_memory_name(numa->kind),
                  bitset_is_empty(&numa->pus) ? ", memory only" : "");
    if (held > 0) {
        human_bytes(left > 0 ? left : 0, memory);
        strbuf_printf(&label, ", %s free", memory);
    }
    draw_text(p, x + PAD, y + LABEL - 3, "label", label.text);
    if (p->out != NULL)
        draw_memory(p, place, x + p->numa.width - PAD - BAR, y + (LABEL - BAR_HEIGHT) / 2 + 2);
    return (unsigned)label.length * WIDE_LETTER + BAR;
}

static struct svg_size
lay_numa_inside(const struct plan *p, unsigned place, unsigned x, unsigned y)
{
    struct svg_layout l = {
        .left = x + PAD,
        .x = x + PAD,
        .y = y + LABEL + GAP,
        .limit = NUMA_WIDTH,
    };
    unsigned label = draw_numa_label(p, place, x, y);

    place_caches(p, &l, &p->t->numa[place].pus);
    place_devices(p, &l, place);
    return (struct svg_size){
        (l.most_width > label ? l.most_width : label) + 2 * PAD,
        l.y - y + l.line + PAD,
    };
}

/* The size of the largest NUMA node. */
static struct svg_size
measure_numas(const struct plan *p)
{
    struct svg_size most = {0};

    for (unsigned i = 0; i < p->t->n_numa; i++) {
        struct svg_size size = lay_numa_inside(p, i, 0, 0);

        if (size.width > most.width)
            most.width = size.width;
        if (size.height > most.height)
            most.height = size.height;
    }
    return most;
}

/* Places the NUMA nodes of one package, or those without a package. */
static void
place_numas(const struct plan *p, struct svg_layout *l, unsigned package)
{
    unsigned count = 0;

    for (unsigned i = 0; i < p->t->n_numa; i++)
        count += p->t->numa[i].package == package;
    svg_layout_balance(l, count, p->numa.width);
    for (unsigned i = 0; i < p->t->n_numa; i++) {
        struct svg_size at;

        if (p->t->numa[i].package != package)
            continue;
        at = svg_layout_place(l, p->numa);
        draw_box(p, at.width, at.height, p->numa, "numa");
        if (p->out != NULL)
            lay_numa_inside(p, i, at.width, at.height);
    }
}

static struct svg_size
lay_package_inside(const struct plan *p, unsigned package, unsigned x, unsigned y)
{
    CLEANUP_STRBUF struct strbuf label = STRBUF_INIT;
    struct svg_layout l = {
        .left = x + PAD,
        .x = x + PAD,
        .y = y + LABEL + GAP,
        .limit = PAGE_WIDTH,
    };

    strbuf_printf(&label, "package %u", package);
    draw_text(p, x + PAD, y + LABEL - 3, "label", label.text);
    place_numas(p, &l, package);
    return (struct svg_size){
        (l.most_width > 80 ? l.most_width : 80) + 2 * PAD,
        l.y - y + l.line + PAD,
    };
}

static struct svg_size
lay_package(const struct plan *p, unsigned package, unsigned x, unsigned y)
{
    struct plan measure = *p;
    struct svg_size size;

    measure.out = NULL;
    size = lay_package_inside(&measure, package, x, y);
    draw_box(p, x, y, size, "package");
    if (p->out != NULL)
        lay_package_inside(p, package, x, y);
    return size;
}

static void
draw_legend(const struct plan *p, unsigned x, unsigned y)
{
    for (size_t i = 0; i < p->n_tenants; i++) {
        unsigned at = y + (unsigned)i * (CORE - 4);

        if (p->out == NULL)
            return;
        strbuf_printf(p->out,
                      "<rect x=\"%u\" y=\"%u\" width=\"14\" height=\"14\" "
                      "fill=\"hsl(%u,65%%,60%%)\" stroke=\"#555\"/>\n",
                      x, at, hue(i));
        draw_text(p, x + 22, at + 12, "label",
                  p->tenants[i].label != NULL ? p->tenants[i].label : "");
    }
}

/* Packages below each other, then parts without a package, then the legend. */
static struct svg_size
lay_page(const struct plan *p)
{
    unsigned y = PAD + LABEL + GAP, width = 0;
    struct svg_layout loose;

    for (unsigned i = 0; i < p->t->n_packages; i++) {
        struct svg_size size = lay_package(p, i, PAD, y);

        if (size.width > width)
            width = size.width;
        y += size.height + GAP;
    }
    loose = (struct svg_layout){.left = PAD, .x = PAD, .y = y, .limit = PAGE_WIDTH};
    place_numas(p, &loose, TOPOLOGY_NONE);
    place_devices(p, &loose, TOPOLOGY_NONE);
    if (loose.most_width > width)
        width = loose.most_width;
    y = loose.y + loose.line + PAD;
    draw_legend(p, PAD, y);
    for (size_t i = 0; i < p->n_tenants; i++)
        if (p->tenants[i].label != NULL && strlen(p->tenants[i].label) * WIDE_LETTER + 30 > width)
            width = (unsigned)strlen(p->tenants[i].label) * WIDE_LETTER + 30;
    y += (unsigned)p->n_tenants * (CORE - 4) + LABEL;
    draw_text(p, PAD, y, "small",
              "white: free; pale: kept idle for the job; grey: reserved for "
              "the system; bars: memory");
    return (struct svg_size){width + 2 * PAD, y + PAD};
}

void
topology_svg_print(const struct topology *topology, const char *title,
                   const struct topology_tenant *tenants, size_t n_tenants, struct strbuf *out)
{
    struct plan p = {
        .t = topology,
        .tenants = tenants,
        .n_tenants = n_tenants,
    };
    unsigned title_width = (unsigned)strlen(title) * WIDE_LETTER + 2 * PAD;
    struct svg_size page;

    p.numa = measure_numas(&p);
    page = lay_page(&p);
    if (title_width > page.width)
        page.width = title_width;
    strbuf_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
        "height=\"%u\" viewBox=\"0 0 %u %u\" font-family=\"sans-serif\">\n"
        "<style>.label{font-size:13px}.small{font-size:11px;fill:#444}"
        ".package{fill:#e8ecf1;stroke:#667}.numa{fill:#f6f3ea;stroke:#886}"
        ".l3{fill:#eee;stroke:#aaa}.core{fill:none;stroke:#444}.thread{stroke:#bbb;fill:none}.memory{fill:#fff;stroke:#886}</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        page.width, page.height, page.width, page.height);
    p.out = out;
    draw_text(&p, PAD, PAD + LABEL - 5, "label", title);
    lay_page(&p);
    strbuf_add_text(out, "</svg>\n");
}
