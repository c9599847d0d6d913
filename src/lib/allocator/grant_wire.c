/* SPDX-License-Identifier: Apache-2.0 */
/* A grant in the scheduler's form (holding) and in the form of a binding
 * (JSON).
 */
#include "lib/allocator/allocator.h"
#include "lib/allocator/holding.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct holding *
grant_holding(const struct grant *grant, const struct topology_index *topology_index)
{
    unsigned n_memory = 0, c = 0, d = 0, m = 0;
    struct holding *h;

    for (unsigned i = 0; i < topology_index->n_numa; i++) {
        n_memory += grant->memory[i] > 0;
        for (unsigned page = 0; page < topology_index->n_pages; page++)
            n_memory += grant->huge[page][i] > 0;
    }
    h = holding_new(bitset_count(&grant->cores), bitset_count(&grant->devices), n_memory);
    h->shared_milli = grant->shared_milli;
    h->is_shared = grant->is_shared;
    h->charged_milli =
        1000 * (int64_t)(bitset_count(&grant->cpus) + bitset_count(&grant->withheld));
    bitset_foreach(core, &grant->cores) h->cores[c++] = (uint16_t)core;
    bitset_foreach(device, &grant->devices) h->devices[d++] = (uint16_t)device;
    for (unsigned i = 0; i < topology_index->n_numa; i++) {
        if (grant->memory[i] > 0)
            h->memory[m++] = (struct holding_memory){
                .numa = (uint16_t)i, .page = HOLDING_PLAIN, .bytes = grant->memory[i]};
        for (unsigned page = 0; page < topology_index->n_pages; page++)
            if (grant->huge[page][i] > 0)
                h->memory[m++] = (struct holding_memory){
                    .numa = (uint16_t)i,
                    .page = (uint16_t)page,
                    .bytes = grant->huge[page][i],
                };
    }
    return h;
}

static void
set_list(struct arena *arena, struct json *object, const char *name, const struct bitset *set)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (bitset_is_empty(set))
        return;
    cpuset_format(set, &text);
    json_set_string(arena, object, name, text.text);
}

static void
set_bytes(struct arena *arena, struct json *entry, const char *name, int64_t bytes)
{
    struct quantity q = quantity_of(bytes, QUANTITY_BINARY_SI);
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(&q, text);
    json_set_string(arena, entry, name, text);
}

/* Adds an amount of memory of one NUMA node; page_bytes 0: plain memory,
 * otherwise huge pages of that size.
 */
static void
add_memory(struct arena *arena, struct json *list, unsigned node, int64_t bytes,
           uint64_t page_bytes)
{
    struct json *entry;

    if (bytes == 0)
        return;
    entry = json_object(arena);
    json_set_int(arena, entry, "node", node);
    set_bytes(arena, entry, "bytes", bytes);
    if (page_bytes > 0)
        set_bytes(arena, entry, "pageSize", (int64_t)page_bytes);
    json_append(arena, list, entry);
}

static void
set_memory(struct arena *arena, struct json *object, const struct grant *g,
           const struct topology_index *ti)
{
    struct json *list = json_array(arena);
    struct bitset nodes = {0};

    for (unsigned i = 0; i < ti->n_numa; i++) {
        unsigned node = ti->topology->numa[i].os_index;

        if ((g->memory_nodes >> i & 1) != 0)
            bitset_add(&nodes, node);
        add_memory(arena, list, node, g->memory[i], 0);
        for (unsigned page = 0; page < ti->n_pages; page++)
            add_memory(arena, list, node, g->huge[page][i], ti->page_bytes[page]);
    }
    set_list(arena, object, "memoryNodes", &nodes);
    if (json_count(list) > 0)
        json_set(arena, object, "memory", list);
}

struct json *
grant_encode(const struct grant *grant, const struct topology_index *topology_index,
             struct arena *arena)
{
    struct json *object = json_object(arena);
    struct json *devices = json_array(arena);

    set_list(arena, object, "cpus", &grant->cpus);
    set_list(arena, object, "withheld", &grant->withheld);
    bitset_foreach(device, &grant->devices) json_append(
        arena, devices, json_string(arena, topology_index->topology->devices[device].name));
    if (json_count(devices) > 0)
        json_set(arena, object, "devices", devices);
    set_memory(arena, object, grant, topology_index);
    if (grant->is_shared) {
        struct quantity q = {
            .nano = (__int128)grant->shared_milli * 1000000,
            .format = QUANTITY_DECIMAL_SI,
        };
        char cpu[QUANTITY_TEXT_SIZE];

        quantity_format(&q, cpu);
        json_set_string(arena, object, "sharedCpu", cpu);
    }
    return object;
}
