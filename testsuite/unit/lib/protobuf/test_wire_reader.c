/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/wire_reader.h"

#include <errno.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(fields_come_in_their_order)
{
    static const char bytes[] = "\x08\x96\x01" /* 1 */
                                "\x12\x03"     /* 2 */
                                "abc"
                                "\x1d\x01\x02\x03\x04"                  /* 3 */
                                "\x21\x01\x02\x03\x04\x05\x06\x07\x08"; /* 4 */
    struct error err = {0};
    struct wire_reader r;
    struct wire_field f;

    wire_reader_init(&r, bytes, sizeof(bytes) - 1);

    ck_assert_int_eq(wire_reader_next(&r, &f, &err), 1);
    ck_assert_uint_eq(f.number, 1);
    ck_assert_uint_eq(f.varint, 150);
    ck_assert_int_eq(wire_reader_next(&r, &f, &err), 1);
    ck_assert_uint_eq(f.number, 2);
    ck_assert_uint_eq(wire_reader_left(&f.bytes), 3);
    ck_assert_int_eq(memcmp(f.bytes.at, "abc", 3), 0);
    ck_assert_int_eq(wire_reader_next(&r, &f, &err), 1);
    ck_assert_uint_eq(f.number, 3);
    ck_assert_int_eq(wire_reader_next(&r, &f, &err), 1);
    ck_assert_uint_eq(f.number, 4);
    ck_assert_int_eq(wire_reader_next(&r, &f, &err), 0);
}
END_TEST

START_TEST(a_truncated_or_wrong_field_is_refused)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *why;
    } cases[] = {
        {"\x08", 1, "unexpected EOF"},
        {"\x08\xff", 2, "unexpected EOF"},
        {"\x12\x05"
         "abc",
         5, "unexpected EOF"},
        {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "unexpected EOF"},
        {"\x1d\x01", 2, "unexpected EOF"},
        {"\x21\x01", 2, "unexpected EOF"},
        {"\x02\x01\x01", 3, "proto: illegal tag"},
        {"\x0b", 1, "proto: illegal wireType 3"},
        {"\x0f", 1, "proto: illegal wireType 7"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "proto: illegal tag"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "proto: integer overflow"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};
        struct wire_reader r;
        struct wire_field f;

        wire_reader_init(&r, cases[i].bytes, cases[i].length);
        ck_assert_int_eq(wire_reader_next(&r, &f, &err), -EINVAL);
        ck_assert_str_eq(err.text, cases[i].why);
    }
}
END_TEST

START_TEST(the_last_of_a_small_message_counts)
{
    static const char bytes[] = "\x08\x01\x08\x02\x20\x09";
    struct wire_field fields[WIRE_SMALL];
    bool found[WIRE_SMALL];
    struct wire_reader r;

    wire_reader_init(&r, bytes, sizeof(bytes) - 1);

    ck_assert_int_eq(wire_reader_small(r, fields, found, NULL), 0);
    ck_assert(found[0]);
    ck_assert(!found[1]);
    ck_assert_uint_eq(fields[0].varint, 2);
}
END_TEST

SUITE("wire_reader", fields_come_in_their_order, a_truncated_or_wrong_field_is_refused,
      the_last_of_a_small_message_counts)
