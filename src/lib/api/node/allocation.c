/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/allocation.h"

#include <errno.h>
#include <string.h>

#include "lib/api/node/topology.h"
#include "lib/api/object/causes.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

/* Reads the exclusive PUs, used and withheld. */
static int
read_pus(const struct allocation *a, struct bitset *ret, struct error *err)
{
    struct bitset used = {0}, withheld = {0};
    int r = 0;

    if (a->cpus != NULL)
        r = cpuset_parse(a->cpus, &used, err);
    if (r == 0 && a->withheld != NULL)
        r = cpuset_parse(a->withheld, &withheld, err);
    if (r < 0)
        return error_wrap(err, -EINVAL, "reading an allocation");
    bitset_or(&used, &withheld);
    *ret = used;
    return 0;
}

static void
check_list(const char *list, const char *name, const struct json *tree, struct causes *causes)
{
    struct bitset set;

    if (list != NULL && cpuset_parse(list, &set, NULL) < 0)
        causes_add(causes, CAUSE_INVALID, name, json_get(tree, name),
                   "must be a list of numbers and ranges, such as 0-7,64-71");
}

void
allocation_check(const struct allocation *a, const struct json *tree, struct causes *causes)
{
    check_list(a->cpus, "cpus", tree, causes);
    check_list(a->withheld, "withheld", tree, causes);
    check_list(a->memory_nodes, "memoryNodes", tree, causes);
}

bool
allocation_equals(const struct allocation *a, const struct allocation *b)
{
    if (!text_equals(a->cpus, b->cpus) || !text_equals(a->withheld, b->withheld)
        || !text_equals(a->memory_nodes, b->memory_nodes)
        || !text_equals(a->shared_cpu, b->shared_cpu) || a->devices.count != b->devices.count
        || a->memory.count != b->memory.count)
        return false;
    for (unsigned i = 0; i < a->devices.count; i++)
        if (!text_equals(a->devices.items[i], b->devices.items[i]))
            return false;
    for (unsigned i = 0; i < a->memory.count; i++) {
        const struct allocation_memory *m = &a->memory.items[i];
        const struct allocation_memory *n = &b->memory.items[i];

        if (m->node != n->node || !text_equals(m->bytes, n->bytes)
            || !text_equals(m->page_size, n->page_size))
            return false;
    }
    return true;
}

static int
check_devices(const struct allocation *a, const struct allocation *b, struct error *err)
{
    for (unsigned i = 0; i < a->devices.count; i++)
        for (unsigned j = 0; j < b->devices.count; j++)
            if (strcmp(a->devices.items[i], b->devices.items[j]) == 0)
                return error_set(err, -EEXIST, "both have the device '%s'", a->devices.items[i]);
    return 0;
}

int
allocation_check_beside(const struct allocation *a, const struct allocation *still,
                        struct error *err)
{
    return check_devices(a, still, err);
}

int
allocation_check_disjoint(const struct allocation *a, const struct allocation *b, struct error *err)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct bitset mine, theirs;
    int r = read_pus(a, &mine, err);

    if (r == 0)
        r = read_pus(b, &theirs, err);
    if (r < 0)
        return r;
    if (!bitset_intersects(&mine, &theirs))
        return check_devices(a, b, err);
    bitset_and(&mine, &theirs);
    cpuset_format(&mine, &list);
    return error_set(err, -EEXIST, "both have the CPUs %s", list.text);
}

static void
list_missing(const char *list, const struct bitset *there, const char *what, struct strbuf *words)
{
    struct bitset missing;

    if (list == NULL || cpuset_parse(list, &missing, NULL) < 0)
        return;
    bitset_and_not(&missing, there);
    if (bitset_is_empty(&missing))
        return;
    strbuf_printf(words, "%s%s ", words->length > 0 ? ", " : "", what);
    cpuset_format(&missing, words);
}

static bool
has_device(const struct topology *t, const char *name)
{
    for (unsigned i = 0; i < t->n_devices; i++)
        if (strcmp(t->devices[i].name, name) == 0)
            return true;
    return false;
}

static struct bitset
nodes_of(const struct topology *t)
{
    struct bitset nodes = {0};

    for (unsigned i = 0; i < t->n_numa; i++)
        bitset_add(&nodes, t->numa[i].os_index);
    return nodes;
}

bool
allocation_is_within(const struct allocation *a, const struct topology *t, struct strbuf *missing)
{
    struct bitset nodes = nodes_of(t);
    size_t before = missing->length;

    list_missing(a->cpus, &t->pus, "CPUs", missing);
    list_missing(a->memory_nodes, &nodes, "NUMA nodes", missing);
    for (unsigned i = 0; i < a->devices.count; i++)
        if (!has_device(t, a->devices.items[i]))
            strbuf_printf(missing, "%sdevice %s", missing->length > 0 ? ", " : "",
                          a->devices.items[i]);
    return missing->length == before;
}

static int64_t
page_bytes_of(const struct allocation_memory *m)
{
    return m->page_size != NULL ? quantity_text_value(m->page_size) : ALLOCATION_PLAIN;
}

int64_t
allocation_memory_of(const struct allocation *a, int64_t node, int64_t page_bytes)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < a->memory.count; i++)
        if (a->memory.items[i].node == node && page_bytes_of(&a->memory.items[i]) == page_bytes)
            sum += quantity_text_value(a->memory.items[i].bytes);
    return sum;
}

static const struct topology_numa *
find_numa(const struct topology *t, int64_t node)
{
    for (unsigned i = 0; i < t->n_numa; i++)
        if (t->numa[i].os_index == node)
            return &t->numa[i];
    return NULL;
}

static int64_t
bytes_there(const struct topology_numa *numa, int64_t page_bytes)
{
    if (page_bytes == ALLOCATION_PLAIN)
        return (int64_t)numa->memory_bytes;
    for (unsigned i = 0; i < numa->n_hugepages; i++)
        if ((int64_t)numa->hugepages[i].page_bytes == page_bytes)
            return page_bytes * (int64_t)numa->hugepages[i].count;
    return 0;
}

/* Whether an earlier entry has the same NUMA node and page size. */
static bool
is_again(const struct allocation *a, unsigned at)
{
    const struct allocation_memory *m = &a->memory.items[at];

    for (unsigned i = 0; i < at; i++)
        if (a->memory.items[i].node == m->node
            && page_bytes_of(&a->memory.items[i]) == page_bytes_of(m))
            return true;
    return false;
}

static void
add_bytes(struct strbuf *out, int64_t bytes)
{
    struct quantity q = quantity_of(bytes, QUANTITY_BINARY_SI);
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(&q, text);
    strbuf_add_text(out, text);
}

static void
describe_short(const struct allocation_memory *m, int64_t given, int64_t there,
               struct strbuf *words)
{
    const int64_t mib = INT64_C(1) << 20;

    strbuf_add_text(words, words->length > 0 ? ", " : "");
    if (m->page_size != NULL)
        strbuf_printf(words, "huge pages of %s", m->page_size);
    else
        strbuf_add_text(words, "memory");
    strbuf_printf(words, " of NUMA node %lld (", (long long)m->node);
    add_bytes(words, (given + mib - 1) / mib * mib);
    strbuf_add_text(words, " given, ");
    add_bytes(words, there / mib * mib);
    strbuf_add_text(words, " there)");
}

bool
allocation_is_backed(const struct allocation *a, const struct topology *t,
                     allocation_given_fn *given, void *context, struct strbuf *missing)
{
    bool is_backed = true;

    for (unsigned i = 0; i < a->memory.count; i++) {
        const struct allocation_memory *m = &a->memory.items[i];
        const struct topology_numa *numa = find_numa(t, m->node);
        int64_t page_bytes = page_bytes_of(m), all, there;

        if (numa == NULL || is_again(a, i))
            continue;
        all = given != NULL ? given(m->node, page_bytes, context)
                            : allocation_memory_of(a, m->node, page_bytes);
        there = bytes_there(numa, page_bytes);
        if (all <= there)
            continue;
        describe_short(m, all, there, missing);
        is_backed = false;
    }
    return is_backed;
}
