/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/gpu_vendor.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"

const struct gpu_vendor gpu_vendors[GPU_VENDOR_COUNT] = {
    /* The driver has its own order for the numbers of its device files, so the number is read. */
    [GPU_VENDOR_NVIDIA] =
        {
            .pci_vendor = 0x10de,
            .runtime_device = "nvml",
            .device_file = "/dev/nvidia",
            .driver_text = "/proc/driver/nvidia/gpus/@/information",
            .number_key = "Device Minor:",
            .model_key = "Model:",
            .models = {"NVIDIA"},
            .variable = "CUDA_VISIBLE_DEVICES",
            .none = "",
            .order_variable = "CUDA_DEVICE_ORDER",
            .order = "PCI_BUS_ID",
            .usage = "nvidia.com/gpu",
            .memory_usage = "nvidia.com/gpu-memory",
        },
    [GPU_VENDOR_AMD] =
        {
            .pci_vendor = 0x1002,
            .runtime_device = "rsmi",
            .driver_text = "/sys/bus/pci/devices/@/product_name",
            .model_key = "",
            .models = {"AMD", "Radeon"},
            .variable = "ROCR_VISIBLE_DEVICES",
            .none = "",
        },
    /* Level Zero takes an empty mask for no mask, but ignores a number that no device has. */
    [GPU_VENDOR_INTEL] =
        {
            .pci_vendor = 0x8086,
            .runtime_device = "ze",
            .models = {"Intel"},
            .variable = "ZE_AFFINITY_MASK",
            .none = "65535",
            .counts_parts = true,
            .order_variable = "ZE_FLAT_DEVICE_HIERARCHY",
            .order = "COMPOSITE",
        },
};

static bool
has_prefix(const char *text, const char *prefix)
{
    return text != NULL && prefix != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

const struct gpu_vendor *
gpu_vendor_of(uint16_t pci_vendor, const char *path, const char *model)
{
    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++)
        for (unsigned j = 0; j < ARRAY_SIZE(gpu_vendors[i].models); j++)
            if (pci_vendor != 0 ? gpu_vendors[i].pci_vendor == pci_vendor
                                : has_prefix(model, gpu_vendors[i].models[j]))
                return &gpu_vendors[i];
    if (pci_vendor != 0)
        return NULL;
    return &gpu_vendors[has_prefix(path, "/dev/dri/") ? GPU_VENDOR_AMD : GPU_VENDOR_NVIDIA];
}

static bool
is_named(const char *variable, const char *name)
{
    const char *end = has_prefix(variable, name) ? variable + strlen(name) : "x";

    return *end == '\0' || *end == '=';
}

const struct gpu_vendor *
gpu_vendor_of_list(const char *variable)
{
    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++)
        if (is_named(variable, gpu_vendors[i].variable))
            return &gpu_vendors[i];
    return NULL;
}

bool
gpu_vendor_is_variable(const char *variable)
{
    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++)
        if (is_named(variable, gpu_vendors[i].order_variable))
            return true;
    return gpu_vendor_of_list(variable) != NULL;
}

int
gpu_vendor_number(const struct gpu_vendor *v, const char *path)
{
    unsigned number;
    int used = 0;

    if (!has_prefix(path, v->device_file))
        return -1;
    path += strlen(v->device_file);
    return sscanf(path, "%3u%n", &number, &used) == 1 && path[used] == '\0' ? (int)number : -1;
}

/* The value of a key in a driver's text, for example "Model: \t\t NVIDIA X". */
static char *
find_fact(const char *text, const char *key)
{
    const char *line = key != NULL ? strstr(text, key) : NULL;
    size_t length;

    if (line == NULL)
        return NULL;
    line += strlen(key);
    line += strspn(line, " \t");
    length = strcspn(line, "\n");
    return length > 0 ? xstrndup(line, length) : NULL;
}

void
gpu_vendor_parse(const struct gpu_vendor *v, const char *text, char **ret_path, char **ret_model)
{
    CLEANUP_FREE char *number = find_fact(text, v->number_key);

    *ret_path = number != NULL ? xasprintf("%s%s", v->device_file, number) : NULL;
    *ret_model = find_fact(text, v->model_key);
}
