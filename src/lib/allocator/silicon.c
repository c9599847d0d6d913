/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/silicon.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct silicon_shelf {
    struct map *by_text;
};

/* What the shelf hands out: the silicon, and where it stands. */
struct shelved {
    struct silicon silicon;
    unsigned refs;
    struct silicon_shelf *shelf; /* NULL: on none */
    char *text;
    struct topology *topology;
};

static struct shelved *
shelved_of(struct silicon *silicon)
{
    return container_of(silicon, struct shelved, silicon);
}

/* Groups are numbered NUMA node by NUMA node, in the order of L3 caches. */
static uint16_t
group_of(struct silicon *s,
         uint16_t *l3_of,
         uint16_t numa,
         uint16_t l3,
         uint16_t package)
{
    for (unsigned g = s->numa[numa].first_group; g < s->n_groups; g++)
        if (l3_of[g] == l3 && s->groups[g].package == package)
            return (uint16_t)g;
    l3_of[s->n_groups] = l3;
    s->groups[s->n_groups].numa = numa;
    s->groups[s->n_groups].package = package;
    s->numa[numa].n_groups++;
    return (uint16_t)s->n_groups++;
}

static void
add_core(struct silicon *s, unsigned core, uint16_t *l3_of)
{
    const struct topology *t = s->topology;
    unsigned pu = bitset_next(&t->cores[core].pus, 0);
    struct silicon_core *c = &s->cores[core];

    c->numa = t->pu[pu].numa;
    c->n_pus = (uint16_t)bitset_count(&t->cores[core].pus);
    c->group = group_of(s, l3_of, c->numa, t->pu[pu].l3, t->pu[pu].package);
    bitset_add(&s->groups[c->group].cores, core);
    s->groups[c->group].n_cores++;
    if (s->groups[c->group].n_cores > s->most_in_group)
        s->most_in_group = s->groups[c->group].n_cores;
    s->numa[c->numa].n_cores++;
    s->numa[c->numa].n_pus = (uint16_t)(s->numa[c->numa].n_pus + c->n_pus);
    s->n_pus += c->n_pus;
    if (c->n_pus > s->max_threads)
        s->max_threads = c->n_pus;
}

/* Sizes beyond the last place are not offered. */
static void
add_hugepages(struct silicon *s, unsigned numa)
{
    const struct topology_numa *n = &s->topology->numa[numa];

    for (unsigned i = 0; i < n->n_hugepages; i++) {
        uint64_t size = n->hugepages[i].page_bytes;
        unsigned page = silicon_find_page(s, size);

        if (page == SILICON_MAX_PAGES && s->n_pages < SILICON_MAX_PAGES) {
            page = s->n_pages++;
            s->page_bytes[page] = size;
        }
        if (page < SILICON_MAX_PAGES)
            s->numa[numa].huge_bytes[page] +=
                (int64_t)(size * n->hugepages[i].count);
    }
}

/* hwloc counts kinds from the most efficient, which is the slowest. */
static void
sort_kinds(struct silicon *s)
{
    const struct topology *t = s->topology;
    int most = -1, next = INT32_MAX;

    s->kinds = xnew_array(struct bitset, s->n_cores + 1);
    do {
        for (unsigned core = 0; core < s->n_cores; core++) {
            int kind = t->pu[bitset_next(&t->cores[core].pus, 0)].kind;

            if (kind < next && kind > most)
                most = kind;
        }
        for (unsigned core = 0; most >= 0 && core < s->n_cores; core++)
            if (t->pu[bitset_next(&t->cores[core].pus, 0)].kind == most)
                bitset_add(&s->kinds[s->n_kinds], core);
        if (most >= 0)
            s->n_kinds++;
        next = most;
        most = -1;
    } while (next >= 0);
}

static void
derive(struct silicon *s)
{
    const struct topology *t = s->topology;
    CLEANUP_FREE uint16_t *l3_of = xnew_array(uint16_t, t->n_cores + 1);

    s->n_cores = t->n_cores;
    s->n_numa = t->n_numa;
    s->n_packages = t->n_packages;
    s->cores = xnew_array(struct silicon_core, t->n_cores + 1);
    s->groups = xnew_array(struct silicon_group, t->n_cores + 1);
    s->numa = xnew_array(struct silicon_numa, t->n_numa + 1);
    for (uint16_t numa = 0; numa < t->n_numa; numa++) {
        s->numa[numa].first_group = (uint16_t)s->n_groups;
        s->memory_bytes += t->numa[numa].memory_bytes;
        add_hugepages(s, numa);
        for (unsigned core = 0; core < t->n_cores; core++) {
            unsigned pu = bitset_next(&t->cores[core].pus, 0);

            if (pu < t->n_pu && t->pu[pu].numa == numa)
                add_core(s, core, l3_of);
        }
    }
    s->is_uniform = s->n_pus == s->n_cores * s->max_threads;
    sort_kinds(s);
}

struct silicon *
silicon_new(struct topology *topology TAKES)
{
    struct shelved *shelved = xnew(struct shelved);

    shelved->refs = 1;
    shelved->topology = topology;
    shelved->silicon.topology = topology;
    derive(&shelved->silicon);
    return &shelved->silicon;
}

struct silicon *
silicon_ref(struct silicon *silicon)
{
    shelved_of(silicon)->refs++;
    return silicon;
}

void
silicon_unref(struct silicon *silicon)
{
    struct shelved *shelved;

    if (silicon == NULL)
        return;
    shelved = shelved_of(silicon);
    if (--shelved->refs > 0)
        return;
    if (shelved->shelf != NULL)
        map_remove(shelved->shelf->by_text, shelved->text);
    free(silicon->cores);
    free(silicon->groups);
    free(silicon->numa);
    free(silicon->kinds);
    topology_free(shelved->topology);
    free(shelved->text);
    free(shelved);
}

struct silicon_shelf *
silicon_shelf_new(void)
{
    struct silicon_shelf *shelf = xnew(struct silicon_shelf);

    shelf->by_text = map_new();
    return shelf;
}

/* What is still in use lives on without the shelf. */
void
silicon_shelf_free(struct silicon_shelf *shelf)
{
    size_t at = 0;
    void *value;

    if (shelf == NULL)
        return;
    while (map_next(shelf->by_text, &at, NULL, &value))
        ((struct shelved *)value)->shelf = NULL;
    map_free(shelf->by_text);
    free(shelf);
}

int
silicon_find(struct silicon_shelf *shelf,
             const struct json *topology,
             struct silicon **ret_silicon,
             struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct shelved *shelved;
    struct topology *t;
    struct silicon *s;
    int r;

    json_print(topology, &text);
    shelved = map_find(shelf->by_text, text.text);
    if (shelved != NULL) {
        *ret_silicon = silicon_ref(&shelved->silicon);
        return 0;
    }
    r = topology_decode(topology, &t, err);
    if (r < 0)
        return r;
    s = silicon_new(t);
    shelved = shelved_of(s);
    shelved->shelf = shelf;
    shelved->text = strbuf_take(&text);
    map_put(shelf->by_text, shelved->text, shelved);
    *ret_silicon = s;
    return 0;
}

unsigned
silicon_distance(const struct silicon *silicon, unsigned a, unsigned b)
{
    const struct topology *t = silicon->topology;

    if (t->distances != NULL)
        return t->distances[a * t->n_numa + b];
    return a == b ? 10 : 20;
}

unsigned
silicon_find_numa(const struct silicon *silicon, int64_t os_index)
{
    for (unsigned i = 0; i < silicon->n_numa; i++)
        if (silicon->topology->numa[i].os_index == os_index)
            return i;
    return TOPOLOGY_NONE;
}

unsigned
silicon_find_page(const struct silicon *silicon, uint64_t page_bytes)
{
    for (unsigned i = 0; i < silicon->n_pages; i++)
        if (silicon->page_bytes[i] == page_bytes)
            return i;
    return SILICON_MAX_PAGES;
}

/* The word at *text, which goes behind it; its length, 0 at the end. */
static size_t
next_word(const char **text, const char **ret_word)
{
    const char *p = *text;
    const char *end;

    while (*p != '\0' && !isalnum((unsigned char)*p))
        p++;
    end = p;
    while (isalnum((unsigned char)*end))
        end++;
    *ret_word = p;
    *text = end;
    return (size_t)(end - p);
}

static bool
has_words(const char *text, const char *words)
{
    const char *wanted, *there;
    size_t length = next_word(&words, &wanted);

    while (length > 0) {
        size_t n = next_word(&text, &there);

        if (n == 0)
            return false;
        if (n == length && strncasecmp(wanted, there, n) == 0)
            length = next_word(&words, &wanted);
    }
    return true;
}

bool
silicon_device_is(const struct silicon *silicon,
                  unsigned device,
                  const char *type,
                  const char *model)
{
    const struct topology_device *d = &silicon->topology->devices[device];

    return strcmp(d->type, type) == 0
           && (model == NULL
               || (d->model != NULL && has_words(d->model, model)));
}
