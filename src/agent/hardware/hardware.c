/* SPDX-License-Identifier: Apache-2.0 */
/* The topology is the promise that the scheduler gives out, so only what a job may really use
 * is in it: CPUs that the agent's own affinity, an administrator or a cgroup forbids are left
 * out, with all threads of a reserved core, and memory that is kept for the system is taken
 * from each NUMA node in proportion, so that equal nodes stay equal.
 */
#include "agent/hardware/hardware.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>

#include <hwloc.h>

#include "agent/hardware/device_files.h"
#include "agent/hardware/devices.h"
#include "agent/hardware/layout.h"
#include "agent/hardware/source.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define LIST_LIMIT_BYTES 65536u

/* hwloc leaves out CPUs that the cpuset cgroup forbids, but not those that the
 * agent's own affinity forbids. A machine with more CPUs than cpu_set_t has is
 * refused later.
 */
static bool
read_affinity(struct bitset *ret_allowed)
{
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        return false;
    *ret_allowed = (struct bitset){0};
    for (unsigned cpu = 0; cpu < BITSET_BITS; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            bitset_add(ret_allowed, cpu);
    return true;
}

/* A kernel that initializes memory gradually may count too little of it in its
 * only NUMA node; the machine's total is right from the start.
 */
static void
count_all_memory(struct topology_numa *only)
{
    struct sysinfo machine;
    uint64_t total, set_aside = 0;

    if (sysinfo(&machine) < 0)
        return;
    total = (uint64_t)machine.totalram * machine.mem_unit;
    for (unsigned i = 0; i < only->n_hugepages; i++)
        set_aside += only->hugepages[i].page_bytes * only->hugepages[i].count;
    if (total > set_aside && total - set_aside > only->memory_bytes)
        only->memory_bytes = total - set_aside;
}

/* Each NUMA node gives memory in proportion to its size, so that equal nodes
 * remain equal.
 */
static int
reserve_memory(struct topology *t, uint64_t bytes, struct error *err)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < t->n_numa; i++)
        total += t->numa[i].memory_bytes;
    if (bytes > 0 && bytes >= total)
        return error_set(err, -ERANGE,
                         "%llu bytes of memory are reserved for the system, "
                         "but the machine has %llu",
                         (unsigned long long)bytes, (unsigned long long)total);
    for (unsigned i = 0; bytes > 0 && i < t->n_numa; i++) {
        uint64_t *memory = &t->numa[i].memory_bytes;

        *memory -= (uint64_t)((__uint128_t)bytes * *memory / total);
    }
    return 0;
}

/* The list of CPUs in a file of /sys/devices/system/cpu; empty without that
 * file.
 */
static struct bitset
read_cpus(const struct hardware_request *request, const char *file)
{
    CLEANUP_FREE char *path =
        xasprintf("%s/sys/devices/system/cpu/%s", request->root != NULL ? request->root : "", file);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct bitset cpus;

    if (request->given != NULL || file_read(path, LIST_LIMIT_BYTES, &text, NULL) < 0)
        return (struct bitset){0};
    strbuf_truncate(&text, strcspn(text.text, "\n"));
    if (text.length == 0 || cpuset_parse(text.text, &cpus, NULL) < 0)
        return (struct bitset){0};
    return cpus;
}

/* The CPUs that are present but not online. For a given topology, the CPUs that
 * its description counts but does not show.
 */
static struct bitset
find_offline(hwloc_topology_t machine, const struct hardware_request *request)
{
    hwloc_const_cpuset_t all = hwloc_topology_get_complete_cpuset(machine);
    hwloc_const_cpuset_t shown = hwloc_topology_get_topology_cpuset(machine);
    struct bitset offline = read_cpus(request, "present");
    const struct bitset online = read_cpus(request, "online");

    bitset_and_not(&offline, &online);
    for (unsigned i = 0; request->given != NULL && i < BITSET_BITS; i++)
        if (hwloc_bitmap_isset(all, i) && !hwloc_bitmap_isset(shown, i))
            bitset_add(&offline, i);
    return offline;
}

static int
fill(hwloc_topology_t machine, const struct hardware_request *request, struct topology *t,
     struct error *err)
{
    struct bitset allowed;
    bool restricted = request->given == NULL && !request->whole_machine && read_affinity(&allowed);
    const struct bitset isolated = read_cpus(request, "isolated");
    int r = layout_fill(machine,
                        &(struct layout_limits){
                            .allowed = restricted ? &allowed : NULL,
                            .reserved = &request->reserved,
                            .isolated = &isolated,
                            .offers_isolated = request->offers_isolated,
                        },
                        t, err);

    if (r < 0)
        return r;
    t->offline = find_offline(machine, request);
    t->is_virtual = request->given != NULL;
    if (request->given == NULL && t->n_numa == 1)
        count_all_memory(&t->numa[0]);
    if (request->with_devices)
        devices_fill(machine, t);
    device_files_fill(request->patterns, request->n_patterns, t);
    return reserve_memory(t, request->reserved_memory_bytes, err);
}

int
hardware_discover(const struct hardware_request *request, struct topology **ret_topology,
                  struct error *err)
{
    struct topology *t;
    hwloc_topology_t machine;
    int r = source_load(request, &machine, err);

    if (r < 0)
        return r;
    t = topology_new();
    r = fill(machine, request, t, err);
    hwloc_topology_destroy(machine);
    if (r < 0) {
        topology_free(t);
        return r;
    }
    *ret_topology = t;
    return 0;
}
