/* SPDX-License-Identifier: Apache-2.0 */
/* machines.h - topology_index for tests, from the wire form of a topology */
#pragma once

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/allocator/topology_index.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static inline struct topology_index *
machine_of(const char *topology)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct json *tree = json_parse(arena, topology, strlen(topology), NULL, &err);
    CLEANUP(topology_cache_freep)
    struct topology_cache *cache = topology_cache_new();
    struct topology_index *index;

    if (tree == NULL || topology_cache_find(cache, tree, &index, &err) < 0) {
        fprintf(stderr, "topology: %s\n", err.text);
        abort();
    }
    return index;
}

/* `numa` NUMA nodes of `cores` cores with `threads` PUs each, `gib` GiB each,
 * an L3 cache for every `per_l3` cores; a GPU on each NUMA node.
 */
static inline struct topology_index *
machine(unsigned numa, unsigned cores, unsigned threads, unsigned gib, unsigned per_l3)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    unsigned n = numa * cores;

    strbuf_printf(&s, "{\"cpus\":\"0-%u\",\"packages\":[", n * threads - 1);
    strbuf_printf(&s, "\"0-%u\"],\"l3\":[", n * threads - 1);
    for (unsigned first = 0; first < n; first += per_l3) {
        strbuf_printf(&s, "%s\"", first > 0 ? "," : "");
        for (unsigned t = 0; t < threads; t++)
            strbuf_printf(&s, "%s%u-%u", t > 0 ? "," : "", t * n + first,
                          t * n + first + per_l3 - 1);
        strbuf_add_char(&s, '"');
    }
    strbuf_add_text(&s, "],\"cores\":[");
    for (unsigned c = 0; c < n; c++) {
        strbuf_printf(&s, "%s\"%u", c > 0 ? "," : "", c);
        for (unsigned t = 1; t < threads; t++)
            strbuf_printf(&s, ",%u", t * n + c);
        strbuf_add_char(&s, '"');
    }
    strbuf_add_text(&s, "],\"numaNodes\":[");
    for (unsigned i = 0; i < numa; i++) {
        strbuf_printf(&s, "%s{\"node\":%u,\"cpus\":\"", i > 0 ? "," : "", i);
        for (unsigned t = 0; t < threads; t++)
            strbuf_printf(&s, "%s%u-%u", t > 0 ? "," : "", t * n + i * cores,
                          t * n + (i + 1) * cores - 1);
        strbuf_printf(&s,
                      "\",\"memory\":\"%uGi\",\"hugepages\":{\"2Mi\":"
                      "\"128\"}}",
                      gib);
    }
    strbuf_add_text(&s, "],\"devices\":[");
    for (unsigned i = 0; i < numa; i++)
        strbuf_printf(&s, "%s{\"name\":\"gpu%u\",\"type\":\"gpu\",\"node\":%u}", i > 0 ? "," : "",
                      i, i);
    strbuf_add_text(&s, "]}");
    return machine_of(s.text);
}
