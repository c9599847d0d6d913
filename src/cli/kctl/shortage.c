/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/shortage.h"

#include <string.h>

#include "cli/kctl/facts.h"
#include "cli/kctl/headroom.h"
#include "cli/kctl/kctl.h"
#include "cli/kctl/node_load.h"
#include "cli/print/human.h"
#include "lib/api/quantity.h"
#include "lib/api/topology.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define NEAREST 3u

struct need {
    int64_t cpus, mcpu, bytes;
    unsigned threads_per_core;
    const char *numa_policy; /* or NULL */
};

struct candidate {
    const char *node;
    unsigned cpus, most_cpus; /* free: of all, and of one NUMA node */
    int64_t bytes, most_bytes;
};

/* False: it runs in the shared pool. */
static bool
read_need(const struct json *pod, struct need *ret_need)
{
    const struct json *placement = json_get_path(pod, "spec.placement");
    const struct json *containers = json_get_path(pod, "spec.containers");
    const char *policy = json_get_text(placement, "cpuPolicy");

    *ret_need = (struct need){
        .threads_per_core =
            (unsigned)json_get_int(placement, "threadsPerCore", 0),
        .numa_policy = json_get_text(placement, "numaPolicy"),
    };
    for (uint32_t i = 0; i < json_count(containers); i++) {
        const struct json *requests =
            json_get_path(json_at(containers, i), "resources.requests");

        ret_need->mcpu += quantity_text_milli(json_get_text(requests, "cpu"));
        ret_need->bytes +=
            quantity_text_value(json_get_text(requests, "memory"));
    }
    ret_need->cpus = ret_need->mcpu / 1000;
    return policy != NULL && strcmp(policy, "exclusive") == 0
           && ret_need->mcpu > 0;
}

static bool
look_at(const struct json *node,
        const struct map *loads,
        const struct need *need,
        struct candidate *ret_candidate)
{
    static const struct node_load nothing;
    CLEANUP(topology_freep) struct topology *t = NULL;
    const struct json *wire = json_get_path(node, "status.topology");
    const char *name = json_path_text(node, "metadata.name");
    const struct node_load *load = map_find(loads, name);
    struct candidate c = {.node = name};

    if (load == NULL)
        load = &nothing;
    if (wire == NULL || json_is(wire, JSON_NULL)
        || json_is_true(json_get_path(node, "spec.unschedulable"))
        || topology_decode(wire, &t, NULL) < 0)
        return false;
    for (unsigned i = 0; i < t->n_numa; i++) {
        unsigned cpus = node_load_free_cpus(load, t, i, need->threads_per_core);
        int64_t bytes = node_load_free_bytes(load, t, i);

        c.cpus += cpus;
        c.bytes += bytes;
        if (cpus > c.most_cpus)
            c.most_cpus = cpus;
        if (bytes > c.most_bytes)
            c.most_bytes = bytes;
    }
    *ret_candidate = c;
    return true;
}

static bool
is_nearer(const struct candidate *a, const struct candidate *b)
{
    return a->most_cpus != b->most_cpus ? a->most_cpus > b->most_cpus
                                        : a->cpus > b->cpus;
}

static unsigned
find_nearest(const struct json *nodes,
             const struct map *loads,
             const struct need *need,
             struct candidate out[NEAREST])
{
    unsigned count = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        struct candidate c;
        unsigned at = count;

        if (!look_at(json_at(nodes, i), loads, need, &c))
            continue;
        while (at > 0 && is_nearer(&c, &out[at - 1]))
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--)
            out[j] = out[j - 1];
        out[at] = c;
    }
    return count;
}

static const char *
where_of(const struct need *need)
{
    if (need->numa_policy != NULL
        && strcmp(need->numa_policy, "single-numa-node") == 0)
        return " in one NUMA node";
    if (need->numa_policy != NULL
        && strcmp(need->numa_policy, "restricted") == 0)
        return " in as few NUMA nodes as can be";
    return "";
}

static void
tell_need(const struct need *need, struct strbuf *out)
{
    char memory[HUMAN_TEXT_SIZE];

    human_bytes(need->bytes, memory);
    facts_add(out,
              2,
              "Needs",
              "%lld CPU%s on whole cores%s%s%s%s",
              (long long)need->cpus,
              need->cpus == 1 ? "" : "s",
              where_of(need),
              need->bytes > 0 ? ", " : "",
              need->bytes > 0 ? memory : "",
              need->bytes > 0 ? " of memory" : "");
}

static void
tell_candidate(const struct candidate *c,
               const struct need *need,
               bool is_first,
               struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf memory = STRBUF_INIT;
    char all[HUMAN_TEXT_SIZE], most[HUMAN_TEXT_SIZE];

    human_bytes(c->bytes, all);
    human_bytes(c->most_bytes, most);
    if (need->bytes > c->most_bytes)
        strbuf_printf(&memory, "; %s of memory, at most %s in one", all, most);
    facts_add(out,
              2,
              is_first ? "Nearest" : "",
              "%s has %u free, at most %u in one NUMA node%s",
              c->node,
              c->cpus,
              c->most_cpus,
              memory.length > 0 ? memory.text : "");
}

int
shortage_tell(struct kctl *kctl,
              const struct json *pod,
              struct strbuf *out,
              struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(map_freep) struct map *loads = map_new();
    struct candidate nearest[NEAREST];
    struct json *nodes = NULL;
    struct need need;
    bool has_cores = read_need(pod, &need);
    unsigned count;
    int r;

    if (need.mcpu + need.bytes == 0)
        return 0;
    r = node_loads_collect(kctl, NULL, arena, loads, &nodes, err);
    if (r < 0)
        return r;
    if (!has_cores) {
        headroom_tell(nodes, loads, need.mcpu, need.bytes, out);
        return 0;
    }
    tell_need(&need, out);
    count = find_nearest(nodes, loads, &need, nearest);
    for (unsigned i = 0; i < count; i++)
        tell_candidate(&nearest[i], &need, i == 0, out);
    return 0;
}
