/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/checksum.h"

#include <check.h>
#include <endian.h>
#include <string.h>

#include "testsuite/lib/suite.h"

/* The checksum of 32 bytes, of which the numbers of the row are the first 16. */
static uint32_t
sum_of(const unsigned char bytes[32])
{
    int64_t numbers[2];

    memcpy(numbers, bytes, sizeof(numbers));
    return checksum_of((int64_t)le64toh((uint64_t)numbers[0]),
                       (int64_t)le64toh((uint64_t)numbers[1]), (const char *)bytes + 16, 16);
}

/* The values are from RFC 3720, B.4. */
START_TEST(the_checksum_is_crc_32c)
{
    unsigned char zeros[32] = {0}, ones[32], rising[32], falling[32];

    memset(ones, 0xff, sizeof(ones));
    for (unsigned i = 0; i < sizeof(rising); i++) {
        rising[i] = (unsigned char)i;
        falling[i] = (unsigned char)(31 - i);
    }

    ck_assert_uint_eq(sum_of(zeros), 0x8a9136aa);
    ck_assert_uint_eq(sum_of(ones), 0x62a8ab43);
    ck_assert_uint_eq(sum_of(rising), 0x46dd794e);
    ck_assert_uint_eq(sum_of(falling), 0x113fdb5c);
}
END_TEST

/* Bit by bit, after 16 bytes that are zero. */
static uint32_t
slow_sum(const char *text, size_t length)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < 16 + length; i++) {
        crc ^= i < 16 ? 0 : (unsigned char)text[i - 16];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

START_TEST(a_text_of_any_length_at_any_address_is_summed_whole)
{
    static const char text[] = "one text, and all the texts that are in it";

    for (size_t i = 0; i < sizeof(text); i++)
        for (size_t length = 0; length <= sizeof(text) - i; length++)
            ck_assert_uint_eq(checksum_of(0, 0, text + i, length), slow_sum(text + i, length));
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

SUITE("checksum", the_checksum_is_crc_32c, a_text_of_any_length_at_any_address_is_summed_whole,
      another_row_or_revision_has_another)
