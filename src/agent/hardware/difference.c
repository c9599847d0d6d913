/* SPDX-License-Identifier: Apache-2.0 */
/* difference.c - changes that matter to the allocator, and words for those that a
 * person can act on
 *
 * A difference without words is still one (another cache, a reserved CPU): the
 * Node must be written. Words name what was lost or added, as the administrator
 * would look for it.
 */
#include "agent/hardware/difference.h"

#include <string.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

static void
start_clause(struct strbuf *words)
{
    if (words->length > 0)
        strbuf_add_text(words, "; ");
}

static bool
list_pus(const struct bitset *these, const struct bitset *not_those, const char *verb,
         struct strbuf *words)
{
    struct bitset set = *these;

    bitset_and_not(&set, not_those);
    if (bitset_is_empty(&set))
        return false;
    start_clause(words);
    strbuf_add_text(words, "CPUs ");
    cpuset_format(&set, words);
    strbuf_printf(words, " %s", verb);
    return true;
}

static bool
have_pus_changed(const struct topology *was, const struct topology *is, struct strbuf *words)
{
    bool gone = list_pus(&was->pus, &is->pus, "are gone", words);
    bool new = list_pus(&is->pus, &was->pus, "are new", words);

    return gone || new || !bitset_equals(&was->reserved, &is->reserved)
           || !bitset_equals(&was->isolated, &is->isolated)
           || !bitset_equals(&was->offline, &is->offline);
}

static const struct topology_numa *
find_numa(const struct topology *t, unsigned os_index)
{
    for (unsigned i = 0; i < t->n_numa; i++)
        if (t->numa[i].os_index == os_index)
            return &t->numa[i];
    return NULL;
}

static bool
has_numa_changed(const struct topology_numa *was, const struct topology_numa *is,
                 struct strbuf *words)
{
    if (is == NULL) {
        start_clause(words);
        strbuf_printf(words, "NUMA node %u is gone", was->os_index);
        return true;
    }
    if (was->memory_bytes != is->memory_bytes) {
        start_clause(words);
        strbuf_printf(words, "NUMA node %u has %.2f GiB of memory instead of %.2f GiB",
                      was->os_index, (double)is->memory_bytes / GIB,
                      (double)was->memory_bytes / GIB);
        return true;
    }
    if (was->n_hugepages != is->n_hugepages
        || memcmp(was->hugepages, is->hugepages, was->n_hugepages * sizeof(was->hugepages[0]))
               != 0) {
        start_clause(words);
        strbuf_printf(words, "the huge pages of NUMA node %u have changed", was->os_index);
        return true;
    }
    return was->package != is->package || was->kind != is->kind
           || !bitset_equals(&was->pus, &is->pus);
}

static bool
have_numa_changed(const struct topology *was, const struct topology *is, struct strbuf *words)
{
    bool changed = false;

    for (unsigned i = 0; i < was->n_numa; i++)
        changed |= has_numa_changed(&was->numa[i], find_numa(is, was->numa[i].os_index), words);
    for (unsigned i = 0; i < is->n_numa; i++) {
        if (find_numa(was, is->numa[i].os_index) != NULL)
            continue;
        start_clause(words);
        strbuf_printf(words, "NUMA node %u is new", is->numa[i].os_index);
        changed = true;
    }
    return changed;
}

static bool
are_groups_equal(const struct topology_group *a, unsigned n_a, const struct topology_group *b,
                 unsigned n_b)
{
    if (n_a != n_b)
        return false;
    for (unsigned i = 0; i < n_a; i++)
        if (!bitset_equals(&a[i].pus, &b[i].pus))
            return false;
    return true;
}

static bool
are_kinds_equal(const struct topology *a, const struct topology *b)
{
    bitset_foreach(pu, &a->pus) if (bitset_has(&b->pus, pu)
                                    && a->pu[pu].kind != b->pu[pu].kind) return false;
    return true;
}

static bool
are_distances_equal(const struct topology *a, const struct topology *b)
{
    if (a->n_numa != b->n_numa || (a->distances == NULL) != (b->distances == NULL))
        return false;
    return a->distances == NULL
           || memcmp(a->distances, b->distances, sizeof(*a->distances) * a->n_numa * a->n_numa)
                  == 0;
}

static bool
is_same_layout(const struct topology *a, const struct topology *b)
{
    return are_groups_equal(a->packages, a->n_packages, b->packages, b->n_packages)
           && are_groups_equal(a->dies, a->n_dies, b->dies, b->n_dies)
           && are_groups_equal(a->clusters, a->n_clusters, b->clusters, b->n_clusters)
           && are_groups_equal(a->l3, a->n_l3, b->l3, b->n_l3)
           && are_groups_equal(a->l2, a->n_l2, b->l2, b->n_l2)
           && are_groups_equal(a->cores, a->n_cores, b->cores, b->n_cores) && are_kinds_equal(a, b)
           && are_distances_equal(a, b) && a->is_virtual == b->is_virtual;
}

static const struct topology_device *
find_device(const struct topology *t, const char *name)
{
    for (unsigned i = 0; i < t->n_devices; i++)
        if (strcmp(t->devices[i].name, name) == 0)
            return &t->devices[i];
    return NULL;
}

static bool
list_devices(const struct topology *these, const struct topology *those, const char *verb,
             struct strbuf *words)
{
    bool changed = false;

    for (unsigned i = 0; i < these->n_devices; i++) {
        const struct topology_device *d = &these->devices[i];
        const struct topology_device *other = find_device(those, d->name);

        if (other == NULL) {
            start_clause(words);
            strbuf_printf(words, "device '%s' is %s", d->name, verb);
        }
        changed |= other == NULL || other->numa != d->numa || !text_equals(other->type, d->type)
                   || !text_equals(other->path, d->path) || !text_equals(other->model, d->model);
    }
    return changed;
}

bool
difference_find(const struct topology *was, const struct topology *is, struct strbuf *words)
{
    CLEANUP_STRBUF struct strbuf own = STRBUF_INIT;
    bool pus = have_pus_changed(was, is, &own);
    bool numa = have_numa_changed(was, is, &own);
    bool gone = list_devices(was, is, "gone", &own);
    bool new = list_devices(is, was, "new", &own);
    bool changed = pus || numa || gone || new || !is_same_layout(was, is);

    if (changed && own.length == 0)
        strbuf_add_text(&own, "CPUs, caches or devices are arranged differently");
    if (words != NULL)
        strbuf_add(words, own.text, own.length);
    return changed;
}
