/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/scalar.h"

#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(words_mean_what_yaml_1_1_says)
{
    static const struct {
        const char *text;
        enum scalar_type type;
    } cases[] = {
        {"", SCALAR_NULL},          {"~", SCALAR_NULL},
        {"null", SCALAR_NULL},      {"NULL", SCALAR_NULL},
        {"nUll", SCALAR_STRING},    {"yes", SCALAR_TRUE},
        {"y", SCALAR_TRUE},         {"Y", SCALAR_TRUE},
        {"on", SCALAR_TRUE},        {"True", SCALAR_TRUE},
        {"tRue", SCALAR_STRING},    {"no", SCALAR_FALSE},
        {"n", SCALAR_FALSE},        {"off", SCALAR_FALSE},
        {"FALSE", SCALAR_FALSE},    {"yesterday", SCALAR_STRING},
        {"none", SCALAR_STRING},    {".inf", SCALAR_NOT_JSON},
        {"-.INF", SCALAR_NOT_JSON}, {".nan", SCALAR_NOT_JSON},
        {"inf", SCALAR_STRING},     {"NaN", SCALAR_STRING},
        {"<<", SCALAR_STRING},      {"abc", SCALAR_STRING},
    };
    CLEANUP_STRBUF struct strbuf number = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *text = cases[i].text;

        ck_assert_msg(scalar_resolve(text, strlen(text), &number) == cases[i].type, "'%s'", text);
    }
}
END_TEST

START_TEST(numbers_become_json_numbers)
{
    static const struct {
        const char *text;
        enum scalar_type type;
        const char *number;
    } cases[] = {
        {"0", SCALAR_INT, "0"},
        {"-0", SCALAR_INT, "0"},
        {"42", SCALAR_INT, "42"},
        {"+5", SCALAR_INT, "5"},
        {"-17", SCALAR_INT, "-17"},
        {"010", SCALAR_INT, "8"},
        {"-010", SCALAR_INT, "-8"},
        {"0o17", SCALAR_INT, "15"},
        {"0x1F", SCALAR_INT, "31"},
        {"0b101", SCALAR_INT, "5"},
        {"1_000", SCALAR_INT, "1000"},
        {"18446744073709551615", SCALAR_INT, "18446744073709551615"},
        {"-9223372036854775808", SCALAR_INT, "-9223372036854775808"},
        {"99999999999999999999999", SCALAR_FLOAT, "99999999999999999999999"},
        {"08", SCALAR_FLOAT, "8"},
        {"1.5", SCALAR_FLOAT, "1.5"},
        {"1.", SCALAR_FLOAT, "1"},
        {".5", SCALAR_FLOAT, "0.5"},
        {"-.5", SCALAR_FLOAT, "-0.5"},
        {"1e3", SCALAR_FLOAT, "1000"},
        {"1.25E-2", SCALAR_FLOAT, "0.0125"},
        {"1e25", SCALAR_FLOAT, "1e+25"},
        {"0.1", SCALAR_FLOAT, "0.1"},
    };
    CLEANUP_STRBUF struct strbuf number = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *text = cases[i].text;

        ck_assert_msg(scalar_resolve(text, strlen(text), &number) == cases[i].type, "'%s'", text);
        ck_assert_str_eq(number.text, cases[i].number);
    }
}
END_TEST

START_TEST(a_text_that_only_looks_like_a_number_is_a_string)
{
    static const char *const cases[] = {
        "-",     "+",   ".",      "0x",   "0xg",        "0b2", "1e",    "1e999",
        "1.2.3", "1-2", "--1",    "_1",   "100m",       "4Gi", "10:30", "1,5",
        "1 2",   "e5",  "0x1F.5", "1e5x", "2024-01-02", "._5", "1__0x",
    };
    CLEANUP_STRBUF struct strbuf number = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_msg(scalar_resolve(cases[i], strlen(cases[i]), &number) == SCALAR_STRING,
                      "'%s' is %s", cases[i], number.text);
}
END_TEST

START_TEST(a_nul_byte_makes_a_string)
{
    CLEANUP_STRBUF struct strbuf number = STRBUF_INIT;

    ck_assert_int_eq(scalar_resolve("5\0", 2, &number), SCALAR_STRING);
    ck_assert_int_eq(scalar_resolve("\0", 1, &number), SCALAR_STRING);
}
END_TEST

START_TEST(strings_that_would_be_read_as_something_else_are_known)
{
    static const char *const plain[] = {
        "abc",        "100m",       "4Gi",         "n1",
        "2024-13-01", "2024-01-32", "2024-01-02x", "2024-01-02 03:04:05Z",
        "1:60",       "12:a",       "/bin/true",
    };
    static const char *const not_plain[] = {
        "",
        "yes",
        "true",
        "123",
        "0x1",
        "1e3",
        "~",
        "<<",
        "2024-01-02",
        "2024-1-2",
        "2024-01-02T03:04:05Z",
        "2024-01-02t03:04:05.678+02:00",
        "2024-01-02 03:04:05.6",
        "10:30",
        "-190:20:30.15",
        ".inf",
    };

    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        ck_assert_msg(scalar_is_plain_string(plain[i], strlen(plain[i])), "'%s'", plain[i]);
    for (size_t i = 0; i < ARRAY_SIZE(not_plain); i++)
        ck_assert_msg(!scalar_is_plain_string(not_plain[i], strlen(not_plain[i])), "'%s'",
                      not_plain[i]);
}
END_TEST

SUITE("scalar", words_mean_what_yaml_1_1_says, numbers_become_json_numbers,
      a_text_that_only_looks_like_a_number_is_a_string, a_nul_byte_makes_a_string,
      strings_that_would_be_read_as_something_else_are_known)
