/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/key_values.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static int
open_text(const char *text, size_t length)
{
    CLEANUP_FREE char *copy = xmemdup(text, length + 1);
    struct key_values s;

    return key_values_open(&s, copy, length, "t 1", NULL);
}

START_TEST(any_byte_but_nul_comes_back)
{
    static const char strange[] = "a=b\n3:x\nend=0:\n\xff\x01";
    struct strbuf out = STRBUF_INIT;
    struct key_values s;
    const char *name;
    char *value;
    int64_t number;

    key_values_begin(&out, "t 1");
    key_values_put_text(&out, "strange", strange);
    key_values_put_text(&out, "left out", NULL);
    key_values_put_text(&out, "empty", "");
    key_values_put_number(&out, "number", INT64_MIN);
    key_values_end(&out);
    ck_assert_int_eq(key_values_open(&s, out.text, out.length, "t 1", NULL), 0);

    ck_assert(key_values_next(&s, &name, &value));
    ck_assert_str_eq(name, "strange");
    ck_assert_str_eq(value, strange);
    ck_assert(key_values_next(&s, &name, &value));
    ck_assert_str_eq(name, "empty");
    ck_assert_str_eq(value, "");
    ck_assert(key_values_next(&s, &name, &value));
    ck_assert_int_eq(key_values_parse_number(value, &number), 0);
    ck_assert(number == INT64_MIN);
    ck_assert(!key_values_next(&s, &name, &value));
    strbuf_fini(&out);
}
END_TEST

START_TEST(a_sheet_torn_anywhere_is_refused)
{
    static const char whole[] = "t 1\na=1:x\nb=2:yz\nend=0:\n";

    ck_assert_int_eq(open_text(whole, sizeof(whole) - 1), 0);
    for (size_t length = 0; length < sizeof(whole) - 1; length++)
        ck_assert_int_lt(open_text(whole, length), 0);
}
END_TEST

START_TEST(a_text_without_keys_and_values_is_refused)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", -EPROTO},
        {"t 2\nend=0:\n", -EPROTO},
        {"t 1", -EPROTO},
        {"t 1\n", -EBADMSG},
        {"t 1\nend=0:\nmore", -EBADMSG},
        {"t 1\nend=0:\nend=0:\n", -EBADMSG},
        {"t 1\na=5:x\nend=0:\n", -EBADMSG},
        {"t 1\na=-1:x\nend=0:\n", -EBADMSG},
        {"t 1\na= 1:x\nend=0:\n", -EBADMSG},
        {"t 1\na=99999999999999999999:x\nend=0:\n", -EBADMSG},
        {"t 1\na=18446744073709551615:x\nend=0:\n", -EBADMSG},
        {"t 1\n=1:x\nend=0:\n", -EBADMSG},
        {"t 1\na=1x\nend=0:\n", -EBADMSG},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_int_eq(open_text(cases[i].text, strlen(cases[i].text)), cases[i].code);
    ck_assert_int_eq(open_text("t 1\na=1:\0\nend=0:\n", 17), -EBADMSG);
}
END_TEST

START_TEST(a_value_that_is_no_number_is_refused)
{
    static const char *const texts[] = {"", "x", "1x", "99999999999999999999", "0x10"};
    int64_t number;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        ck_assert_int_eq(key_values_parse_number(texts[i], &number), -EINVAL);
}
END_TEST

SUITE("key_values", any_byte_but_nul_comes_back, a_sheet_torn_anywhere_is_refused,
      a_text_without_keys_and_values_is_refused, a_value_that_is_no_number_is_refused)
