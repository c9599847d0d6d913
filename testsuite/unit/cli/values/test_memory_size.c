/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/memory_size.h"

#include <check.h>
#include <errno.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(an_amount_is_read_in_powers_of_1024)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"512", INT64_C(512) << 20},
        {"1K", 1024},
        {"1k", 1024},
        {"4G", INT64_C(4) << 30},
        {"4GB", INT64_C(4) << 30},
        {"4GiB", INT64_C(4) << 30},
        {"4Gi", INT64_C(4) << 30},
        {"2t", INT64_C(2) << 40},
        {"1P", INT64_C(1) << 50},
        {"1024M", INT64_C(1) << 30},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t bytes = -1;

        ck_assert_int_eq(memory_size_parse(cases[i].text, &bytes, NULL), 0);
        ck_assert_msg(bytes == cases[i].bytes, "'%s' is %lld", cases[i].text, (long long)bytes);
    }
}
END_TEST

START_TEST(a_wrong_amount_is_refused)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"", -EINVAL},
        {"G", -EINVAL},
        {"-1", -EINVAL},
        {"1e999", -EINVAL},
        {"0x", -EINVAL},
        {"4X", -EINVAL},
        {"4Gx", -EINVAL},
        {"1.5G", -EINVAL},
        {"4 G", -EINVAL},
        {"0", -EINVAL},
        {"0G", -EINVAL},
        {"4096P", -ERANGE},
        {"99999999999999999999", -EINVAL},
        {"2000000000000G", -ERANGE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t bytes = 17;

        ck_assert_msg(memory_size_parse(cases[i].text, &bytes, NULL) == cases[i].result, "'%s'",
                      cases[i].text);
        ck_assert_int_eq(bytes, 17);
    }
}
END_TEST

START_TEST(an_amount_is_written_as_the_shortest_exact_quantity)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {INT64_C(4) << 30, "4Gi"}, {INT64_C(1536) << 20, "1536Mi"}, {1000, "1000"}, {1024, "1Ki"},
        {INT64_C(8) << 50, "8Pi"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        memory_size_format(cases[i].bytes, &out);
        ck_assert_str_eq(out.text, cases[i].text);
    }
}
END_TEST

SUITE("memory_size", an_amount_is_read_in_powers_of_1024, a_wrong_amount_is_refused,
      an_amount_is_written_as_the_shortest_exact_quantity)
