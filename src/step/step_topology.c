/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_topology.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/topology.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

/* The number in the file, or -1. */
static long
read_number(const char *sys, unsigned cpu, const char *file)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char path[512];
    char *end;
    long n;

    snprintf(path, sizeof(path), "%s/cpu%u/topology/%s", sys, cpu, file);
    if (file_read(path, 64, &text, NULL) < 0 || text.length == 0)
        return -1;
    n = strtol(text.text, &end, 10);
    return end != text.text ? n : -1;
}

/* From the link "node2" in the CPU's folder; 0 on a machine without NUMA. */
static unsigned
find_node(const char *sys, unsigned cpu)
{
    char path[512];
    DIR *dir;
    unsigned node = 0;

    snprintf(path, sizeof(path), "%s/cpu%u", sys, cpu);
    dir = opendir(path);
    if (dir == NULL)
        return 0;
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        unsigned n;

        if (sscanf(e->d_name, "node%u", &n) == 1)
            node = n;
    }
    closedir(dir);
    return node;
}

/* The place of the number among those seen, which is added if it is new. */
static uint16_t
place_of(long *seen, unsigned *count, long number)
{
    unsigned i = 0;

    while (i < *count && seen[i] != number)
        i++;
    if (i == *count)
        seen[(*count)++] = number;
    return (uint16_t)i;
}

const struct topology *
step_topology_read(struct arena *arena, const char *sys, const struct bitset *cpus)
{
    struct topology *t = arena_alloc(arena, sizeof(*t));
    long *cores = arena_new_array(arena, long, BITSET_BITS);
    long *packages = arena_new_array(arena, long, BITSET_BITS);
    long *nodes = arena_new_array(arena, long, BITSET_BITS);

    t->pu = arena_new_array(arena, struct topology_pu, BITSET_BITS);
    t->n_pu = BITSET_BITS;
    t->pus = *cpus;
    bitset_foreach(cpu, cpus)
    {
        const long core = read_number(sys, cpu, "core_id");
        const long package = read_number(sys, cpu, "physical_package_id");

        if (core < 0 || package < 0)
            return NULL;
        t->pu[cpu].package = place_of(packages, &t->n_packages, package);
        /* Numbers of cores are those within their package. */
        t->pu[cpu].core = place_of(cores, &t->n_cores, (package << 16) + core);
        t->pu[cpu].numa = place_of(nodes, &t->n_numa, (long)find_node(sys, cpu));
    }
    t->numa = arena_new_array(arena, struct topology_numa, t->n_numa + 1);
    for (unsigned i = 0; i < t->n_numa; i++)
        t->numa[i].os_index = (unsigned)nodes[i];
    return t;
}
