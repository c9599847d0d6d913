/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand nodes have a few kinds of hardware. The topology is found by its text and
 * derived once, so that all nodes of a kind share it, comparing two topologies is comparing
 * pointers, and a node costs only its occupancy.
 */
#include "lib/allocator/topology_index.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct topology_cache {
    struct map *by_text;
};

/* A topology_index with the cache that lists it. */
struct cached_index {
    struct topology_index topology_index;
    unsigned refs;
    struct topology_cache *topologies; /* NULL: in no cache */
    char *text;
    struct topology *topology;
};

static struct cached_index *
cached_index_of(struct topology_index *topology_index)
{
    return container_of(topology_index, struct cached_index, topology_index);
}

/* Groups are numbered per NUMA node, in the order of their L3 caches. */
static uint16_t
group_of(struct topology_index *ti, uint16_t *l3_of, uint16_t numa, uint16_t l3, uint16_t package)
{
    for (unsigned g = ti->numa[numa].first_group; g < ti->n_groups; g++)
        if (l3_of[g] == l3 && ti->groups[g].package == package)
            return (uint16_t)g;
    l3_of[ti->n_groups] = l3;
    ti->groups[ti->n_groups].numa = numa;
    ti->groups[ti->n_groups].package = package;
    ti->numa[numa].n_groups++;
    return (uint16_t)ti->n_groups++;
}

static void
add_core(struct topology_index *ti, unsigned core, uint16_t *l3_of)
{
    const struct topology *t = ti->topology;
    unsigned pu = bitset_next(&t->cores[core].pus, 0);
    struct topology_index_core *c = &ti->cores[core];

    c->numa = t->pu[pu].numa;
    c->n_pus = (uint16_t)bitset_count(&t->cores[core].pus);
    c->group = group_of(ti, l3_of, c->numa, t->pu[pu].l3, t->pu[pu].package);
    bitset_add(&ti->groups[c->group].cores, core);
    ti->groups[c->group].n_cores++;
    if (ti->groups[c->group].n_cores > ti->most_in_group)
        ti->most_in_group = ti->groups[c->group].n_cores;
    ti->numa[c->numa].n_cores++;
    ti->numa[c->numa].n_pus = (uint16_t)(ti->numa[c->numa].n_pus + c->n_pus);
    ti->n_pus += c->n_pus;
    if (c->n_pus > ti->max_threads)
        ti->max_threads = c->n_pus;
}

/* Page sizes beyond TOPOLOGY_INDEX_MAX_PAGES are not offered. */
static void
add_hugepages(struct topology_index *ti, unsigned numa)
{
    const struct topology_numa *n = &ti->topology->numa[numa];

    for (unsigned i = 0; i < n->n_hugepages; i++) {
        uint64_t size = n->hugepages[i].page_bytes;
        unsigned page = topology_index_find_page(ti, size);

        if (page == TOPOLOGY_INDEX_MAX_PAGES && ti->n_pages < TOPOLOGY_INDEX_MAX_PAGES) {
            page = ti->n_pages++;
            ti->page_bytes[page] = size;
        }
        if (page < TOPOLOGY_INDEX_MAX_PAGES)
            ti->numa[numa].huge_bytes[page] += (int64_t)(size * n->hugepages[i].count);
    }
}

/* hwloc numbers kinds of cores from the most efficient up; the most efficient
 * kind is the slowest.
 */
static void
sort_kinds(struct topology_index *ti)
{
    const struct topology *t = ti->topology;
    int most = -1, next = INT32_MAX;

    ti->kinds = xnew_array(struct bitset, ti->n_cores + 1);
    do {
        for (unsigned core = 0; core < ti->n_cores; core++) {
            int kind = t->pu[bitset_next(&t->cores[core].pus, 0)].kind;

            if (kind < next && kind > most)
                most = kind;
        }
        for (unsigned core = 0; most >= 0 && core < ti->n_cores; core++)
            if (t->pu[bitset_next(&t->cores[core].pus, 0)].kind == most)
                bitset_add(&ti->kinds[ti->n_kinds], core);
        if (most >= 0)
            ti->n_kinds++;
        next = most;
        most = -1;
    } while (next >= 0);
}

static void
derive(struct topology_index *ti)
{
    const struct topology *t = ti->topology;
    CLEANUP_FREE uint16_t *l3_of = xnew_array(uint16_t, t->n_cores + 1);

    ti->n_cores = t->n_cores;
    ti->n_numa = t->n_numa;
    ti->n_packages = t->n_packages;
    ti->cores = xnew_array(struct topology_index_core, t->n_cores + 1);
    ti->groups = xnew_array(struct topology_index_group, t->n_cores + 1);
    ti->numa = xnew_array(struct topology_index_numa, t->n_numa + 1);
    for (uint16_t numa = 0; numa < t->n_numa; numa++) {
        ti->numa[numa].first_group = (uint16_t)ti->n_groups;
        ti->memory_bytes += t->numa[numa].memory_bytes;
        add_hugepages(ti, numa);
        for (unsigned core = 0; core < t->n_cores; core++) {
            unsigned pu = bitset_next(&t->cores[core].pus, 0);

            if (pu < t->n_pu && t->pu[pu].numa == numa)
                add_core(ti, core, l3_of);
        }
    }
    ti->is_uniform = ti->n_pus == ti->n_cores * ti->max_threads;
    sort_kinds(ti);
}

static struct topology_index *
new_index(struct topology *topology TAKES)
{
    struct cached_index *cached_index = xnew(struct cached_index);

    cached_index->refs = 1;
    cached_index->topology = topology;
    cached_index->topology_index.topology = topology;
    derive(&cached_index->topology_index);
    return &cached_index->topology_index;
}

struct topology_index *
topology_index_ref(struct topology_index *topology_index)
{
    cached_index_of(topology_index)->refs++;
    return topology_index;
}

void
topology_index_unref(struct topology_index *topology_index)
{
    struct cached_index *cached_index;

    if (topology_index == NULL)
        return;
    cached_index = cached_index_of(topology_index);
    if (--cached_index->refs > 0)
        return;
    if (cached_index->topologies != NULL)
        map_remove(cached_index->topologies->by_text, cached_index->text);
    free(topology_index->cores);
    free(topology_index->groups);
    free(topology_index->numa);
    free(topology_index->kinds);
    topology_free(cached_index->topology);
    free(cached_index->text);
    free(cached_index);
}

struct topology_cache *
topology_cache_new(void)
{
    struct topology_cache *topologies = xnew(struct topology_cache);

    topologies->by_text = map_new();
    return topologies;
}

void
topology_cache_free(struct topology_cache *topologies)
{
    size_t at = 0;
    void *value;

    if (topologies == NULL)
        return;
    while (map_next(topologies->by_text, &at, NULL, &value))
        ((struct cached_index *)value)->topologies = NULL;
    map_free(topologies->by_text);
    free(topologies);
}

int
topology_cache_find(struct topology_cache *topologies, const struct json *topology,
                    struct topology_index **ret_index, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct cached_index *cached_index;
    struct topology *t;
    struct topology_index *ti;
    int r;

    json_print(topology, &text);
    cached_index = map_find(topologies->by_text, text.text);
    if (cached_index != NULL) {
        *ret_index = topology_index_ref(&cached_index->topology_index);
        return 0;
    }
    r = topology_decode(topology, &t, err);
    if (r < 0)
        return r;
    ti = new_index(t);
    cached_index = cached_index_of(ti);
    cached_index->topologies = topologies;
    cached_index->text = strbuf_take(&text);
    map_put(topologies->by_text, cached_index->text, cached_index);
    *ret_index = ti;
    return 0;
}

unsigned
topology_index_distance(const struct topology_index *topology_index, unsigned a, unsigned b)
{
    const struct topology *t = topology_index->topology;

    if (t->distances != NULL)
        return t->distances[a * t->n_numa + b];
    return a == b ? 10 : 20;
}

unsigned
topology_index_find_numa(const struct topology_index *topology_index, int64_t os_index)
{
    for (unsigned i = 0; i < topology_index->n_numa; i++)
        if (topology_index->topology->numa[i].os_index == os_index)
            return i;
    return TOPOLOGY_NONE;
}

unsigned
topology_index_find_page(const struct topology_index *topology_index, uint64_t page_bytes)
{
    for (unsigned i = 0; i < topology_index->n_pages; i++)
        if (topology_index->page_bytes[i] == page_bytes)
            return i;
    return TOPOLOGY_INDEX_MAX_PAGES;
}

/* Finds the next word from *text on and moves *text behind it. Returns the
 * word's length; 0: no more words.
 */
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
topology_index_device_matches(const struct topology_index *topology_index, unsigned device,
                              const char *type, const char *model)
{
    const struct topology_device *d = &topology_index->topology->devices[device];

    return strcmp(d->type, type) == 0
           && (model == NULL || (d->model != NULL && has_words(d->model, model)));
}
