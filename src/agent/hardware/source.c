/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/source.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hardware/hardware.h"
#include "lib/base/bitset.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

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

int
source_load(const struct hardware_request *request, hwloc_topology_t *ret_machine,
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
