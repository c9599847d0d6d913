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

#include <ctype.h>
#include <hwloc.h>
#include <limits.h>
#include <stdlib.h>

#include "agent/hardware/device_files.h"
#include "agent/hardware/devices.h"
#include "agent/hardware/layout.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/bitset.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define LIST_LIMIT_BYTES 65536u

/* ---- Which machine: this one, a synthetic description or an XML file ---- */

#define XML_LIMIT_BYTES (16u << 20)

static bool
is_path(const char *given)
{
    size_t length = strlen(given);

    return strchr(given, '/') != NULL || (length > 4 && strcmp(given + length - 4, ".xml") == 0);
}

/* hwloc would try to build a synthetic topology of any size, so "pu:1000000000"
 * is refused before hwloc reads it. Attributes in brackets and parentheses are
 * no factors.
 */
static bool
multiplies_too_far(const char *synthetic)
{
    unsigned long product = 1;
    int depth = 0;

    for (const char *p = synthetic; *p != '\0'; p++) {
        if (*p == '(' || *p == '[')
            depth++;
        else if (*p == ')' || *p == ']')
            depth--;
        else if (depth == 0 && isdigit((unsigned char)*p)
                 && (p == synthetic || p[-1] == ':' || p[-1] == ' ')) {
            unsigned long count = strtoul(p, NULL, 10);

            if (count > BITSET_BITS || (product *= count) > BITSET_BITS)
                return true;
        }
    }
    return false;
}

static int
load_synthetic(hwloc_topology_t machine, const char *text, struct error *err)
{
    if (multiplies_too_far(text))
        return error_set(err, -E2BIG,
                         "topology '%.80s' has more than %u PUs, the maximum "
                         "for a node",
                         text, BITSET_BITS);
    if (hwloc_topology_set_synthetic(machine, text) < 0)
        return error_set(err, -EINVAL,
                         "topology '%.80s' is neither an hwloc synthetic "
                         "description such as 'pack:2 numa:2 core:8 pu:2' nor "
                         "the path of an XML export",
                         text);
    return 0;
}

static int
refuse_xml(const char *path, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' is not an hwloc XML export (make one with 'lstopo "
                     "FILE.xml')",
                     path);
}

static int
load_xml(hwloc_topology_t machine, const char *path, struct error *err)
{
    CLEANUP_STRBUF struct strbuf xml = STRBUF_INIT;
    int r = file_read(path, XML_LIMIT_BYTES, &xml, err);

    if (r < 0)
        return r;
    if (hwloc_topology_set_xmlbuffer(machine, xml.text, (int)xml.length + 1) < 0)
        return refuse_xml(path, err);
    return 0;
}

static int
load_given(hwloc_topology_t machine, const char *given, struct error *err)
{
    if (given == NULL)
        return 0;
    if (is_path(given))
        return load_xml(machine, given, err);
    return load_synthetic(machine, given, err);
}

/* Disables hwloc's discovery by other libraries: one searches for X displays,
 * one starts the drivers of accelerators, and one reads PCI space although
 * sysfs has the same data.
 */
static void
leave_out_plugins(hwloc_topology_t machine)
{
    static const char *const plugins[] = {"gl", "opencl", "pci"};

    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
        hwloc_topology_set_components(machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      plugins[i]);
}

/* Groups are kept where they add information: a NUMA node whose CPUs are not
 * those of a package or cache (sub-NUMA clusters) is attached to a group, and
 * without the group hwloc gives the node all CPUs of the parent object.
 */
static void
filter(hwloc_topology_t machine, bool with_devices)
{
    hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(machine, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_type_filter(machine, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(machine, HWLOC_OBJ_DIE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(machine, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(machine, HWLOC_OBJ_L2CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(machine, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (with_devices)
        hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
}

/* hwloc uses HWLOC_XMLFILE, HWLOC_SYNTHETIC and HWLOC_FSROOT from the
 * environment. The agent refuses the result, because it would offer the cores
 * of another machine.
 */
static int
load(hwloc_topology_t machine, const char *given, struct error *err)
{
    if (hwloc_topology_load(machine) < 0) {
        if (given != NULL && is_path(given))
            return refuse_xml(given, err);
        return error_set(err, errno > 0 ? -errno : -EINVAL,
                         "hwloc cannot load the topology of %s%s",
                         given == NULL ? "this machine" : "", given == NULL ? "" : given);
    }
    if (given == NULL && !hwloc_topology_is_thissystem(machine))
        return error_set(err, -EINVAL,
                         "an HWLOC_ variable in the environment describes "
                         "another machine than this one; unset it, or give "
                         "the agent a topology");
    return 0;
}

/* The caller destroys the result with hwloc_topology_destroy. */
static int
load_machine(const struct hardware_request *request, hwloc_topology_t *ret_machine,
             struct error *err)
{
    hwloc_topology_t machine;
    int r;

    if (hwloc_topology_init(&machine) < 0)
        return error_set(err, -ENOMEM, "hwloc cannot start");
    leave_out_plugins(machine);
    filter(machine, request->with_devices);
    if (request->whole_machine)
        hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    r = load_given(machine, request->given, err);
    if (r == 0)
        r = load(machine, request->given, err);
    if (r < 0) {
        hwloc_topology_destroy(machine);
        return r;
    }
    *ret_machine = machine;
    return 0;
}

/* ---- What a job may use of it ---- */

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
    hwloc_topology_t machine = NULL;
    int r = load_machine(request, &machine, err);

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
