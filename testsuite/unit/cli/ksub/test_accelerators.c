/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/accelerators.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define MIB (INT64_C(1) << 20)

START_TEST(gpus_are_read_in_both_orders)
{
    static const struct {
        const char *text, *type;
        int64_t gpus;
    } rows[] = {
        {"1", "", 1},
        {"8", "", 8},
        {"2:a100", "a100", 2},
        {"a100:2", "a100", 2},
        {"4:H100-SXM5", "H100-SXM5", 4},
        {"2:80", "80", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct submission s = {.gpu_type = "old"};

        ck_assert_int_eq(accelerators_parse_gpus(rows[i].text, &s, NULL), 0);
        ck_assert_int_eq(s.gpus, rows[i].gpus);
        ck_assert_str_eq(s.gpu_type, rows[i].type);
    }
}
END_TEST

START_TEST(gres_means_gpus)
{
    static const struct {
        const char *text, *type;
        int64_t gpus;
    } rows[] = {
        {"gpu", "", 1},
        {"gpu:2", "", 2},
        {"gpu:a100", "a100", 1},
        {"gpu:a100:2", "a100", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct submission s = {0};

        ck_assert_int_eq(accelerators_parse_gres(rows[i].text, &s, NULL), 0);
        ck_assert_int_eq(s.gpus, rows[i].gpus);
        ck_assert_str_eq(s.gpu_type, rows[i].type);
    }
}
END_TEST

START_TEST(huge_pages_have_a_size)
{
    struct submission s = {0};

    ck_assert_int_eq(accelerators_parse_hugepages("1G", &s, NULL), 0);
    ck_assert_uint_eq(s.n_hugepages, 1);
    ck_assert_int_eq(s.hugepages[0].bytes, 1024 * MIB);
    ck_assert_int_eq(s.hugepages[0].page_bytes, 2 * MIB);
    ck_assert_int_eq(accelerators_parse_hugepages("512M:2M,4G:1G", &s, NULL), 0);
    ck_assert_uint_eq(s.n_hugepages, 2);
    ck_assert_int_eq(s.hugepages[1].bytes, 4096 * MIB);
    ck_assert_int_eq(s.hugepages[1].page_bytes, 1024 * MIB);
}
END_TEST

START_TEST(nonsense_is_refused_with_what_is_wrong)
{
    static const struct {
        int (*parse)(const char *, struct submission *, struct error *);
        const char *text, *words;
    } rows[] = {
        {accelerators_parse_gpus, "", "not a number of GPUs"},
        {accelerators_parse_gpus, "-1", "not a number of GPUs"},
        {accelerators_parse_gpus, "99999999999999999999", "1 to 1024"},
        {accelerators_parse_gpus, "2:", "not a number of GPUs"},
        {accelerators_parse_gpus, "2:a100:3", "not a number of GPUs"},
        {accelerators_parse_gpus, "2:--", "not a number of GPUs"},
        {accelerators_parse_gres, "fpga:2", "only gpu"},
        {accelerators_parse_gres, "gpu:a100:1,gpu:v100:1", "are of one model"},
        {accelerators_parse_gres, "gpu:1,fpga:2", "only gpu"},
        {accelerators_parse_hugepages, "3M:2M", "whole number of pages"},
        {accelerators_parse_hugepages, "x", "amount of memory"},
        {accelerators_parse_hugepages, "1G:", "amount of memory"},
        {accelerators_parse_hugepages, "2G:1G,4G:1G", "twice"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct submission s = {0};
        struct error err = {0};

        ck_assert_int_lt(rows[i].parse(rows[i].text, &s, &err), 0);
        ck_assert_msg(strstr(err.text, rows[i].words) != NULL, "'%s': %s", rows[i].text, err.text);
    }
}
END_TEST

SUITE("accelerators", gpus_are_read_in_both_orders, gres_means_gpus, huge_pages_have_a_size,
      nonsense_is_refused_with_what_is_wrong)
