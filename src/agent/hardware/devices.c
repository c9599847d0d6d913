/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU must have the same name after each boot, or a job would be given another one than the
 * scheduler meant; so names follow the order of PCI addresses and not that of drivers. A
 * display controller counts as a GPU only if it can compute, which no single sign tells: a
 * render node, a vendor's device file, or a runtime that found it.
 */
#include "agent/hardware/devices.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/node/gpu_vendor.h"
#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define PCI_CLASS_DISPLAY 0x03

/* The only NUMA node with CPUs that is local to the device; TOPOLOGY_NONE if
 * there are several or none.
 */
static uint16_t
numa_of(hwloc_topology_t machine, const struct topology *t, hwloc_obj_t device)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(machine, device);
    uint16_t found = TOPOLOGY_NONE;

    if (near == NULL || near->nodeset == NULL)
        return TOPOLOGY_NONE;
    for (unsigned i = 0; i < t->n_numa; i++) {
        if (!hwloc_bitmap_isset(near->nodeset, t->numa[i].os_index)
            || (bitset_is_empty(&t->numa[i].pus) && t->n_numa > 1))
            continue;
        if (found != TOPOLOGY_NONE)
            return TOPOLOGY_NONE;
        found = (uint16_t)i;
    }
    return found;
}

static void
add(struct topology *t, uint16_t numa, const char *type, char *name TAKES, char *path TAKES,
    const char *model)
{
    t->devices = xrealloc_array(t->devices, t->n_devices + 1, sizeof(*t->devices));
    t->devices[t->n_devices++] = (struct topology_device){
        .name = name,
        .type = xstrdup(type),
        .path = path,
        .model = model == NULL ? NULL : xstrdup(model),
        .numa = numa,
    };
}

static const char *
model_of(hwloc_obj_t object)
{
    const char *model = hwloc_obj_get_info_by_name(object, "GPUModel");

    if (model == NULL)
        model = hwloc_obj_get_info_by_name(object, "Model");
    if (model == NULL)
        model = hwloc_obj_get_info_by_name(object, "PCIDevice");
    if (model == NULL && object->parent->type == HWLOC_OBJ_PCI_DEVICE)
        model = hwloc_obj_get_info_by_name(object->parent, "PCIDevice");
    return model;
}

struct gpu {
    char *path;
    char *model;
    bool computes;
};

/* The vendor's driver knows better than hwloc. */
static void
read_driver(const struct hwloc_pcidev_attr_s *pci, struct gpu *g)
{
    const struct gpu_vendor *v = gpu_vendor_of(pci->vendor_id, NULL, NULL);
    const char *at = v != NULL && v->driver_text != NULL ? strchr(v->driver_text, '@') : NULL;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *model = NULL;
    CLEANUP_FREE char *file = NULL;
    char *path;

    if (at == NULL)
        return;
    file = xasprintf("%.*s%04x:%02x:%02x.%01x%s", (int)(at - v->driver_text), v->driver_text,
                     pci->domain, pci->bus, pci->dev, pci->func, at + 1);
    if (file_read(file, 65536, &text, NULL) < 0)
        return;
    gpu_vendor_parse(v, text.text, &path, &model);
    if (path != NULL) {
        free(g->path);
        g->path = path;
        g->computes = true;
    }
    if (g->model == NULL) {
        g->model = model;
        model = NULL;
    }
}

/* A given topology has no driver, so the name is guessed that the driver would
 * use.
 */
static void
guess_device_file(const struct topology *t, const struct hwloc_pcidev_attr_s *pci, struct gpu *g)
{
    const struct gpu_vendor *v = gpu_vendor_of(pci->vendor_id, NULL, NULL);
    unsigned before = 0;

    if (v == NULL || v->device_file == NULL || !g->computes)
        return;
    for (unsigned i = 0; i < t->n_devices; i++)
        before += gpu_vendor_number(v, t->devices[i].path) >= 0;
    free(g->path);
    g->path = xasprintf("%s%u", v->device_file, before);
}

static bool
is_of_a_runtime(hwloc_obj_t os)
{
    bool is_known = os->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC;

    for (unsigned i = 0; i < GPU_VENDOR_COUNT && !is_known; i++) {
        const char *begin = gpu_vendors[i].runtime_device;

        is_known = strncmp(os->name, begin, strlen(begin)) == 0;
    }
    return is_known;
}

/* Looks through the OS devices below a PCI display controller. */
static void
read_hwloc(hwloc_obj_t pci, struct gpu *g)
{
    const char *model = hwloc_obj_get_info_by_name(pci, "PCIDevice");

    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) {
        if (os->type != HWLOC_OBJ_OS_DEVICE || os->name == NULL)
            continue;
        if (g->path == NULL && strncmp(os->name, "renderD", 7) == 0)
            g->path = xasprintf("/dev/dri/%s", os->name);
        else if (!is_of_a_runtime(os))
            continue;
        else if (model_of(os) != NULL)
            model = model_of(os);
        g->computes = true;
    }
    if (model != NULL)
        g->model = xstrdup(model);
}

/* After a device was lost, its PCI address may remain, but not its file. */
static bool
is_there(const struct topology *t, const char *path)
{
    return t->is_virtual || path == NULL || access(path, F_OK) == 0;
}

static void
add_gpu(hwloc_topology_t machine, struct topology *t, hwloc_obj_t pci, unsigned *n_gpus)
{
    const struct hwloc_pcidev_attr_s *attr = &pci->attr->pcidev;
    struct gpu g = {0};

    if (attr->class_id >> 8 != PCI_CLASS_DISPLAY)
        return;
    read_hwloc(pci, &g);
    if (t->is_virtual)
        guess_device_file(t, attr, &g);
    else
        read_driver(attr, &g);
    if (g.model == NULL)
        g.model = xasprintf("%04x:%04x", attr->vendor_id, attr->device_id);
    if (g.computes && is_there(t, g.path)) {
        add(t, numa_of(machine, t, pci), "gpu", xasprintf("gpu%u", (*n_gpus)++), g.path, g.model);
        t->devices[t->n_devices - 1].pci_vendor = attr->vendor_id;
    } else
        free(g.path);
    free(g.model);
}

static void
add_os_device(hwloc_topology_t machine, struct topology *t, hwloc_obj_t os)
{
    const char *type = NULL;
    char *path = NULL;

    if (os->name == NULL)
        return;
    switch (os->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_NETWORK:
        type = "nic";
        break;
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
        type = "rdma";
        break;
    case HWLOC_OBJ_OSDEV_BLOCK:
        if (strncmp(os->name, "nvme", 4) != 0)
            return;
        type = "nvme";
        path = xasprintf("/dev/%s", os->name);
        if (!is_there(t, path)) {
            free(path);
            return;
        }
        break;
    default:
        return;
    }
    add(t, numa_of(machine, t, os), type, xstrdup(os->name), path, model_of(os));
}

void
devices_fill(hwloc_topology_t machine, struct topology *t)
{
    hwloc_obj_t object = NULL;
    unsigned n_gpus = 0;

    while ((object = hwloc_get_next_pcidev(machine, object)))
        add_gpu(machine, t, object, &n_gpus);
    object = NULL;
    while ((object = hwloc_get_next_osdev(machine, object)))
        add_os_device(machine, t, object);
}
