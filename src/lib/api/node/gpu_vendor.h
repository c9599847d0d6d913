/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_vendor.h - the vendors of GPUs: all that differs between them
 *
 * One row a vendor: how its GPUs are found on a node, and which variables its
 * runtime reads. Everything else is the same for all GPUs. A GPU of a vendor that
 * has no row is given to jobs, but no variable tells them which one it is.
 *
 * Thread: any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gpu_vendor {
    uint16_t pci_vendor;
    /* How hwloc names the devices of the runtime ("nvml0"). */
    const char *runtime_device;
    /* Beginning of the path of a GPU's device file, before its number; NULL: the
     * device file is the render node of DRM.
     */
    const char *device_file;
    /* A file of the driver about one GPU, '@' stands for the PCI address; or NULL.
     * The number of the device file and the model follow the keys; a key of NULL:
     * the text does not have it.
     */
    const char *driver_text;
    const char *number_key, *model_key;
    /* Beginnings of the names of models, for a GPU whose PCI vendor is unknown. */
    const char *models[2];
    /* The variable lists the GPUs that a program may use, by the numbers that the
     * runtime gives to those that it can open; `none` is the list of a program that
     * has none. With `counts_parts`, a number may be a part of a GPU, so that the
     * variable is not set where a job can open only its own.
     */
    const char *variable, *none;
    bool counts_parts;
    /* Set with it, so that the numbers mean whole GPUs in the order of PCI addresses;
     * or NULL.
     */
    const char *order_variable, *order;
    /* Names of what PodMetrics have of it: how busy, and memory in use; NULL: the
     * use is not measured.
     */
    const char *usage, *memory_usage;
};

enum gpu_vendor_row { GPU_VENDOR_NVIDIA, GPU_VENDOR_AMD, GPU_VENDOR_INTEL, GPU_VENDOR_COUNT };

extern const struct gpu_vendor gpu_vendors[GPU_VENDOR_COUNT];

/* NULL: the vendor has no row. A `pci_vendor` of 0 is unknown; the vendor is then
 * guessed by the model and the path of the device file, of which both may be NULL.
 */
const struct gpu_vendor *gpu_vendor_of(uint16_t pci_vendor, const char *path, const char *model);

/* Of NAME or NAME=VALUE: the vendor whose GPUs the variable lists, or NULL; and
 * whether it is the list or the order of one.
 */
const struct gpu_vendor *gpu_vendor_of_list(const char *variable);
bool gpu_vendor_is_variable(const char *variable);

/* The number in the path of a device file ("/dev/nvidia3"); -1: it is no file of
 * a GPU of the vendor, or such files have no numbers.
 */
int gpu_vendor_number(const struct gpu_vendor *vendor, const char *path);

/* Reads a driver's text. Both results are new; NULL: the text does not have it. */
void gpu_vendor_parse(const struct gpu_vendor *vendor, const char *text, char **ret_path,
                      char **ret_model);
