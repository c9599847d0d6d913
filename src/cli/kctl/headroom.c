/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/headroom.h"

#include <stdbool.h>
#include <stdio.h>

#include "cli/kctl/facts.h"
#include "cli/kctl/node_load.h"
#include "cli/print/human.h"
#include "lib/api/quantity.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define NEAREST 3u
#define GIB     (INT64_C(1) << 30)
#define MIB     (INT64_C(1) << 20)

struct room {
    const char *node;
    int64_t mcpu, all_mcpu;
    int64_t bytes, all_bytes;
};

/* False: nothing new comes to that node. */
static bool
look_at(const struct json *node, const struct map *loads, struct room *ret_room)
{
    const struct json *amounts = json_get_path(node, "status.allocatable");
    const char *name = json_path_text(node, "metadata.name");
    const struct node_load *load = map_find(loads, name);

    if (json_is_true(json_get_path(node, "spec.unschedulable")))
        return false;
    *ret_room = (struct room){
        .node = name,
        .all_mcpu = quantity_text_milli(json_get_text(amounts, "cpu")),
        .all_bytes = quantity_text_value(json_get_text(amounts, "memory")),
    };
    ret_room->mcpu = ret_room->all_mcpu - (load != NULL ? load->mcpu : 0);
    ret_room->bytes =
        ret_room->all_bytes - (load != NULL ? load->memory_bytes : 0);
    return true;
}

/* How much of what it asks for is there, of what there is least. */
static double
share(const struct room *r, int64_t mcpu, int64_t bytes)
{
    double cpu = mcpu > 0 ? (double)r->mcpu / (double)mcpu : 1;
    double memory = bytes > 0 ? (double)r->bytes / (double)bytes : 1;

    cpu = cpu > 1 ? 1 : cpu;
    memory = memory > 1 ? 1 : memory;
    return cpu < memory ? cpu : memory;
}

static void
format_cpus(int64_t mcpu, char out[HUMAN_TEXT_SIZE])
{
    if (mcpu % 1000 == 0)
        snprintf(out, HUMAN_TEXT_SIZE, "%lld", (long long)mcpu / 1000);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%.1f", (double)mcpu / 1000);
}

static void
tell_need(int64_t mcpu, int64_t bytes, struct strbuf *out)
{
    char cpus[HUMAN_TEXT_SIZE], memory[HUMAN_TEXT_SIZE];

    format_cpus(mcpu, cpus);
    human_bytes(bytes, memory);
    facts_add(out,
              2,
              "Needs",
              "%s CPU%s%s%s%s",
              cpus,
              mcpu == 1000 ? "" : "s",
              bytes > 0 ? ", " : "",
              bytes > 0 ? memory : "",
              bytes > 0 ? " of memory" : "");
}

static void
tell_room(const struct room *r, bool is_first, struct strbuf *out)
{
    char cpus[HUMAN_TEXT_SIZE], all_cpus[HUMAN_TEXT_SIZE];
    char memory[HUMAN_TEXT_SIZE], all_memory[HUMAN_TEXT_SIZE];

    format_cpus(r->mcpu > 0 ? r->mcpu : 0, cpus);
    format_cpus(r->all_mcpu, all_cpus);
    human_bytes(r->bytes > 0 ? r->bytes : 0, memory);
    human_bytes(r->all_bytes, all_memory);
    facts_add(out,
              2,
              is_first ? "Nearest" : "",
              "%s has %s of %s CPUs and %s of %s of memory free",
              r->node,
              cpus,
              all_cpus,
              memory,
              all_memory);
}

static void
tell_nearest(const struct json *nodes,
             const struct map *loads,
             int64_t mcpu,
             int64_t bytes,
             struct strbuf *out)
{
    struct room nearest[NEAREST];
    unsigned count = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        struct room r;
        unsigned at = count;

        if (!look_at(json_at(nodes, i), loads, &r))
            continue;
        while (at > 0
               && share(&r, mcpu, bytes) > share(&nearest[at - 1], mcpu, bytes))
            at--;
        if (at == NEAREST)
            continue;
        if (count < NEAREST)
            count++;
        for (unsigned j = count - 1; j > at; j--)
            nearest[j] = nearest[j - 1];
        nearest[at] = r;
    }
    for (unsigned i = 0; i < count; i++)
        tell_room(&nearest[i], i == 0, out);
}

/* A whole number of what people ask for: never more than there is. */
static int64_t
round_bytes(int64_t bytes)
{
    return bytes >= 8 * GIB ? bytes / GIB * GIB : bytes / MIB * MIB;
}

static int64_t
round_mcpu(int64_t mcpu)
{
    return mcpu / 1000 * 1000;
}

/* The most that one node has of the one amount, where there is enough of the
 * other; 0: of neither.
 */
static int64_t
most(const struct json *nodes,
     const struct map *loads,
     int64_t mcpu,
     int64_t bytes,
     bool of_memory)
{
    int64_t best = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        struct room r;
        int64_t has;

        if (!look_at(json_at(nodes, i), loads, &r))
            continue;
        if (of_memory ? r.mcpu < mcpu : r.bytes < bytes)
            continue;
        has = of_memory ? round_bytes(r.bytes) : round_mcpu(r.mcpu);
        best = has > best ? has : best;
    }
    return best;
}

static unsigned
count_fitting(const struct json *nodes,
              const struct map *loads,
              int64_t mcpu,
              int64_t bytes)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        struct room r;

        if (look_at(json_at(nodes, i), loads, &r) && r.mcpu >= mcpu
            && r.bytes >= bytes)
            count++;
    }
    return count;
}

static void
tell_fit(unsigned count, const char *option, bool is_first, struct strbuf *out)
{
    facts_add(out,
              2,
              is_first ? "Would fit" : "",
              "on %u node%s with %s or less",
              count,
              count == 1 ? "" : "s",
              option);
}

/* In the words of ksub. */
static void
tell_fits(const struct json *nodes,
          const struct map *loads,
          int64_t mcpu,
          int64_t bytes,
          struct strbuf *out)
{
    int64_t less_bytes = most(nodes, loads, mcpu, bytes, true);
    int64_t less_mcpu = most(nodes, loads, mcpu, bytes, false);
    char option[64];
    bool is_first = true;

    if (less_bytes > 0 && less_bytes < bytes) {
        snprintf(option,
                 sizeof(option),
                 less_bytes % GIB == 0 ? "--mem %lldG" : "--mem %lldM",
                 (long long)(less_bytes % GIB == 0 ? less_bytes / GIB
                                                   : less_bytes / MIB));
        tell_fit(count_fitting(nodes, loads, mcpu, less_bytes),
                 option,
                 is_first,
                 out);
        is_first = false;
    }
    if (less_mcpu > 0 && less_mcpu < mcpu) {
        snprintf(option,
                 sizeof(option),
                 "-c %lld",
                 (long long)less_mcpu / 1000);
        tell_fit(count_fitting(nodes, loads, less_mcpu, bytes),
                 option,
                 is_first,
                 out);
    }
}

void
headroom_tell(const struct json *nodes,
              const struct map *loads,
              int64_t mcpu,
              int64_t bytes,
              struct strbuf *out)
{
    tell_need(mcpu, bytes, out);
    tell_nearest(nodes, loads, mcpu, bytes, out);
    tell_fits(nodes, loads, mcpu, bytes, out);
}
