/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/device_files.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/name.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

int
device_files_check(const char *pattern, struct error *err)
{
    const char *equals = strchr(pattern, '=');
    CLEANUP_FREE char *type = equals == NULL ? NULL : xstrndup(pattern, (size_t)(equals - pattern));
    const char *why;

    if (type == NULL || equals[1] != '/')
        return error_set(err, -EINVAL,
                         "'%s' is not a device type with its files, such as "
                         "'fpga=/dev/xdma*'",
                         pattern);
    why = name_refuse(NAME_DNS_LABEL, type);
    return why == NULL ? 0 : error_set(err, -EINVAL, "device type '%s': %s", type, why);
}

typedef void pattern_match_fn(const char *path, const char *type, void *context);

static void
match(const char *pattern, pattern_match_fn *found, void *context)
{
    const char *equals = strchr(pattern, '=');
    CLEANUP_FREE char *type = xstrndup(pattern, (size_t)(equals - pattern));
    glob_t files;

    if (glob(equals + 1, 0, NULL, &files) != 0)
        return;
    for (size_t i = 0; i < files.gl_pathc; i++)
        found(files.gl_pathv[i], type, context);
    globfree(&files);
}

static bool
is_known(const struct topology *t, const char *path, const char *name)
{
    for (unsigned i = 0; i < t->n_devices; i++)
        if (strcmp(t->devices[i].name, name) == 0
            || (t->devices[i].path != NULL && strcmp(t->devices[i].path, path) == 0))
            return true;
    return false;
}

/* A number that sysfs has of the device, or -1. */
static long
read_number(const struct stat *st, const char *name)
{
    CLEANUP_FREE char *path =
        xasprintf("/sys/dev/%s/%u:%u/device/%s", S_ISBLK(st->st_mode) ? "block" : "char",
                  major(st->st_rdev), minor(st->st_rdev), name);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    return file_read(path, 64, &text, NULL) < 0 ? -1 : strtol(text.text, NULL, 0);
}

/* TOPOLOGY_NONE if sysfs has no NUMA node of the device, or the topology lacks
 * that node.
 */
static uint16_t
numa_of(const struct topology *t, const struct stat *st)
{
    long node = read_number(st, "numa_node");

    for (unsigned i = 0; node >= 0 && i < t->n_numa; i++)
        if (t->numa[i].os_index == (unsigned long)node)
            return (uint16_t)i;
    return TOPOLOGY_NONE;
}

static void
add(const char *path, const char *type, void *context)
{
    struct topology *t = context;
    const char *name = strrchr(path, '/') + 1;
    struct stat st;
    long vendor;

    if (stat(path, &st) < 0 || (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
        || is_known(t, path, name))
        return;
    vendor = read_number(&st, "vendor");
    t->devices = xrealloc_array(t->devices, t->n_devices + 1, sizeof(*t->devices));
    t->devices[t->n_devices++] = (struct topology_device){
        .name = xstrdup(name),
        .type = xstrdup(type),
        .path = xstrdup(path),
        .numa = numa_of(t, &st),
        .pci_vendor = vendor > 0 && vendor < UINT16_MAX ? (uint16_t)vendor : 0,
    };
}

void
device_files_fill(const char *const *patterns, size_t n, struct topology *t)
{
    for (size_t i = 0; i < n; i++)
        match(patterns[i], add, t);
}

static void
list(const char *path, const char *type, void *context)
{
    strbuf_printf(context, "%s %s\n", type, path);
}

void
device_files_list(const char *const *patterns, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++)
        match(patterns[i], list, out);
}
