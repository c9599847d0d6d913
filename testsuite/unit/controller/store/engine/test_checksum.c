/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/checksum.h"

#include <check.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

/* The first value is from the catalogue of CRCs, the others are from RFC 3720,
 * B.4.
 */
START_TEST(it_is_crc_32c)
{
    unsigned char bytes[32] = {0};

    ck_assert_uint_eq(checksum_add(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(checksum_add(0, bytes, sizeof(bytes)), 0x8a9136aa);
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(checksum_add(0, bytes, sizeof(bytes)), 0x46dd794e);
}
END_TEST

START_TEST(it_goes_on_from_what_came_before)
{
    static const char text[] = "one text in two parts, of any length";
    uint32_t whole = checksum_add(0, text, sizeof(text));

    for (size_t i = 0; i < sizeof(text); i++)
        ck_assert_uint_eq(
            checksum_add(checksum_add(0, text, i), text + i, sizeof(text) - i),
            whole);
}
END_TEST

START_TEST(another_row_or_revision_has_another)
{
    uint32_t sum = checksum_of(1, 2, "x", 1);

    ck_assert_uint_ne(checksum_of(2, 2, "x", 1), sum);
    ck_assert_uint_ne(checksum_of(1, 3, "x", 1), sum);
    ck_assert_uint_ne(checksum_of(1, 2, "y", 1), sum);
}
END_TEST

SUITE("checksum",
      it_is_crc_32c,
      it_goes_on_from_what_came_before,
      another_row_or_revision_has_another)
