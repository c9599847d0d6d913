/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/gpu_vendor.h"

#include <check.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* What the driver of each vendor writes, and what is read from that. A vendor that
 * is added has its text here.
 */
static const struct {
    uint16_t pci_vendor;
    const char *text, *path, *model;
} drivers[GPU_VENDOR_COUNT] = {
    [GPU_VENDOR_NVIDIA] = {0x10de,
                           "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 221\n"
                           "Bus Location: \t 0000:01:00.0\nDevice Minor: \t 3\n",
                           "/dev/nvidia3", "NVIDIA A100-SXM4-80GB"},
    [GPU_VENDOR_AMD] = {0x1002, "AMD Instinct MI250X\n", NULL, "AMD Instinct MI250X"},
    [GPU_VENDOR_INTEL] = {0x8086, "", NULL, NULL},
};

START_TEST(each_row_has_what_its_readers_need)
{
    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++) {
        const struct gpu_vendor *v = &gpu_vendors[i];

        ck_assert_ptr_eq(gpu_vendor_of(v->pci_vendor, NULL, NULL), v);
        ck_assert_ptr_eq(gpu_vendor_of(0, NULL, v->models[0]), v);
        ck_assert_ptr_nonnull(v->runtime_device);
        ck_assert_ptr_nonnull(v->variable);
        ck_assert_ptr_nonnull(v->none);
        ck_assert((v->order_variable == NULL) == (v->order == NULL));
        ck_assert((v->usage == NULL) == (v->memory_usage == NULL));
        ck_assert(v->driver_text == NULL || strchr(v->driver_text, '@') != NULL);
        ck_assert_ptr_eq(gpu_vendor_of_list(v->variable), v);
        ck_assert(gpu_vendor_is_variable(v->variable));
    }
}
END_TEST

START_TEST(a_vendor_is_known_by_its_number_or_guessed)
{
    static const struct {
        uint16_t pci_vendor;
        const char *path, *model;
        int row; /* -1: none */
    } rows[] = {
        {0x10de, "/dev/dri/renderD128", "Intel", GPU_VENDOR_NVIDIA},
        {0x1af4, "/dev/nvidia0", "AMD", -1},
        {0, "/dev/nvidia0", NULL, GPU_VENDOR_NVIDIA},
        {0, "/dev/dri/renderD128", NULL, GPU_VENDOR_AMD},
        {0, "/dev/dri/renderD128", "Intel Data Center GPU Max 1550", GPU_VENDOR_INTEL},
        {0, NULL, "Radeon Pro", GPU_VENDOR_AMD},
        {0, NULL, NULL, GPU_VENDOR_NVIDIA},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        ck_assert_ptr_eq(gpu_vendor_of(rows[i].pci_vendor, rows[i].path, rows[i].model),
                         rows[i].row < 0 ? NULL : &gpu_vendors[rows[i].row]);
}
END_TEST

START_TEST(the_text_of_a_driver_has_path_and_model)
{
    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++) {
        const struct gpu_vendor *v = &gpu_vendors[i];
        CLEANUP_FREE char *path = NULL;
        CLEANUP_FREE char *model = NULL;
        CLEANUP_FREE char *no_path = NULL;
        CLEANUP_FREE char *no_model = NULL;

        ck_assert_uint_eq(v->pci_vendor, drivers[i].pci_vendor);
        if (v->driver_text == NULL)
            continue;
        gpu_vendor_parse(v, drivers[i].text, &path, &model);
        ck_assert_pstr_eq(path, drivers[i].path);
        ck_assert_pstr_eq(model, drivers[i].model);
        gpu_vendor_parse(v, "\n", &no_path, &no_model);
        ck_assert_ptr_null(no_path);
        ck_assert_ptr_null(no_model);
    }
}
END_TEST

START_TEST(only_a_whole_name_is_the_variable_of_a_vendor)
{
    ck_assert_ptr_eq(gpu_vendor_of_list("CUDA_VISIBLE_DEVICES=0,1"),
                     &gpu_vendors[GPU_VENDOR_NVIDIA]);
    ck_assert_ptr_null(gpu_vendor_of_list("CUDA_VISIBLE_DEVICES_X=0"));
    ck_assert_ptr_null(gpu_vendor_of_list("CUDA_VISIBLE"));
    ck_assert_ptr_null(gpu_vendor_of_list("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
    ck_assert(gpu_vendor_is_variable("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
    ck_assert(gpu_vendor_is_variable("ZE_FLAT_DEVICE_HIERARCHY"));
    ck_assert(!gpu_vendor_is_variable("PATH=/bin"));
}
END_TEST

START_TEST(a_device_file_has_the_number_of_the_gpu)
{
    const struct gpu_vendor *nvidia = &gpu_vendors[GPU_VENDOR_NVIDIA];

    ck_assert_int_eq(gpu_vendor_number(nvidia, "/dev/nvidia0"), 0);
    ck_assert_int_eq(gpu_vendor_number(nvidia, "/dev/nvidia17"), 17);
    ck_assert_int_eq(gpu_vendor_number(nvidia, "/dev/nvidiactl"), -1);
    ck_assert_int_eq(gpu_vendor_number(nvidia, "/dev/nvidia1x"), -1);
    ck_assert_int_eq(gpu_vendor_number(nvidia, "/dev/dri/renderD128"), -1);
    ck_assert_int_eq(gpu_vendor_number(nvidia, NULL), -1);
    ck_assert_int_eq(gpu_vendor_number(&gpu_vendors[GPU_VENDOR_AMD], "/dev/dri/renderD128"), -1);
}
END_TEST

SUITE("gpu_vendor", each_row_has_what_its_readers_need, a_vendor_is_known_by_its_number_or_guessed,
      the_text_of_a_driver_has_path_and_model, only_a_whole_name_is_the_variable_of_a_vendor,
      a_device_file_has_the_number_of_the_gpu)
