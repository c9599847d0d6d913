/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/sanitize_text.h"

#include <check.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(nothing_that_a_terminal_obeys_is_left)
{
    static const struct {
        const char *text, *sanitized;
    } cases[] = {
        {NULL, ""},
        {"", ""},
        {"plain", "plain"},
        {"two\nlines\tand a tab", "two lines and a tab"},
        {"\033[31mred\007\177", "?[31mred??"},
        {"\r\b", "??"},
        /* U+009B is CSI, too; U+00A0 and above are printable characters. */
        {"a\302\23331mb", "a?31mb"},
        {"\302\200\302\237", "??"},
        {"\302\240\303\251\342\202\254", "\302\240\303\251\342\202\254"},
        {"\302", "\302"},
        /* Right-to-left mark, zero width, line separator; a dash and an
         * ellipsis are kept.
         */
        {"a\342\200\256b\342\201\246c\342\200\213d\342\200\250e", "a?b?c?d?e"},
        {"\357\273\277x\342\200\224\342\200\246", "?x\342\200\224\342\200\246"},
        {"\342\200", "\342\200"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_FREE char *copy = sanitize_text_dup(cases[i].text);

        ck_assert_str_eq(copy, cases[i].sanitized);
    }
}
END_TEST

START_TEST(a_cell_of_csv_is_one_cell_and_no_formula)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"plain", "plain"},
        {"a,b", "\"a,b\""},
        {"say \"a\"", "\"say \"\"a\"\"\""},
        {"=1+2", "\"'=1+2\""},
        {"@SUM(1)", "\"'@SUM(1)\""},
        {"+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""},
        {"-2+3", "\"'-2+3\""},
        {"-5", "-5"},
        {"+1.5", "+1.5"},
        {"-", "-"},
        {"a\nb\033[31m", "a b?[31m"},
        {"x\342\200\256y", "x?y"},
        {NULL, ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        sanitize_text_add_csv(cases[i].text, &out);
        ck_assert_str_eq(out.text, cases[i].cell);
    }
}
END_TEST

SUITE("sanitize_text", a_cell_of_csv_is_one_cell_and_no_formula,
      nothing_that_a_terminal_obeys_is_left)
