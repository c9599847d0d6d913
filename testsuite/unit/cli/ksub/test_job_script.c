/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/job_script.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(a_script_that_begins_with_an_interpreter_is_good)
{
    static const char text[] = "#!/bin/sh\necho hello\n";

    ck_assert_int_eq(job_script_check(text, strlen(text), NULL), 0);
}
END_TEST

START_TEST(a_file_that_is_no_script_is_refused_with_what_to_do)
{
    static const struct {
        const char *text;
        size_t length;
        const char *words;
    } cases[] = {
        {"", 0, "is empty"},
        {" \n\t\r\n", 5, "is empty"},
        {"#", 1, "does not look like a batch script"},
        {"echo hello\n", 11, "for instance #!/bin/sh"},
        {"\177ELF\2\1", 6, "--wrap"},
        {"#!/bin/sh\n\0\n", 12, "NUL bytes"},
        {"#!/bin/sh\r\necho\r\n", 17, "dos2unix"},
        {"#!/bin/sh\recho\r", 15, "mac2unix"},
        {"#!/bin/sh\recho\n", 15, "mac2unix"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};

        ck_assert_int_eq(job_script_check(cases[i].text, cases[i].length, &err), -EINVAL);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "case %zu: %s", i, err.text);
    }
}
END_TEST

START_TEST(a_script_may_be_four_mebibytes_and_no_more)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, "#!/bin/sh\n");
    while (text.length < JOB_SCRIPT_MAX)
        strbuf_add_char(&text, 'x');

    ck_assert_int_eq(job_script_check(text.text, text.length, NULL), 0);
    strbuf_add_char(&text, 'x');
    ck_assert_int_eq(job_script_check(text.text, text.length, NULL), -EFBIG);
}
END_TEST

/* The words of all directives: [a][b] per directive, each on its line. */
static int
words_of(const char *prefix, const char *text, size_t length, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct job_script_reader reader;
    char **words = NULL;
    size_t count = 0;
    int r;

    job_script_read(&reader, prefix, text, length);
    while ((r = job_script_next(&reader, arena, &words, &count, NULL)) > 0) {
        strbuf_printf(out, "%u:", reader.line);
        for (size_t i = 0; i < count; i++)
            strbuf_printf(out, "[%s]", words[i]);
        ck_assert_ptr_null(words[count]);
        strbuf_add_char(out, '\n');
    }
    return r;
}

/* As Slurm 22.05 reads them. */
START_TEST(lines_for_slurm_are_read_as_slurm_reads_them)
{
    static const char *const cases[][2] = {
        {"#!/bin/sh\n#SBATCHtext -n 4\n", "2:[text][-n][4]\n"},
        {"#!/bin/sh\n#SBATCH--time=5\n#SBATCH=-n\n", "2:[--time=5]\n3:[=-n]\n"},
        {"#!/bin/sh\n#SBATCH\n#SBATCH -n 4#x\n", "2:\n3:[-n][4]\n"},
        {"#!/bin/sh\n#SBATCH -J 'a\\b' -t 7 \\\n#SBATCH -n 2\n", "2:[-J][ab][-t][7]\n3:[-n][2]\n"},
        {"#!/bin/sh\n#SBATCH -J a\\#b -J a\\\n", "2:[-J][a#b][-J][a]\n"},
        {"#!/bin/sh\n##SBATCH -n 4\n# SBATCH -n 4\n #SBATCH -n 4\n", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        ck_assert_int_eq(words_of("#SBATCH", cases[i][0], strlen(cases[i][0]), &out), 0);
        ck_assert_msg(strcmp(out.length > 0 ? out.text : "", cases[i][1]) == 0, "case %zu: %s", i,
                      out.text);
    }
}
END_TEST

START_TEST(directives_are_read_to_the_first_command)
{
    static const char *const cases[][2] = {
        {"#!/bin/sh\n#KSUB -n 4\n", "2:[-n][4]\n"},
        {"#!/bin/sh\n# words\n\n#KSUB\t--time=5\n", "4:[--time=5]\n"},
        {"#!/bin/sh\n#KSUB -n 1 # four\n", "2:[-n][1]\n"},
        {"#!/bin/sh\n#KSUB -J \"a b\" -o 'c #d'\n", "2:[-J][a b][-o][c #d]\n"},
        {"#!/bin/sh\n#KSUB -J a\\ b\\\"c\n", "2:[-J][a b\"c]\n"},
        {"#!/bin/sh\n#KSUB -J a'b'\"c\"\n", "2:[-J][abc]\n"},
        {"#!/bin/sh\n#KSUB -J ''\n", "2:[-J][]\n"},
        {"#!/bin/sh\n#KSUB\n", ""},
        {"#!/bin/sh\n#KSUB \n", "2:\n"},
        {"#!/bin/sh\n##KSUB -n 4\n #KSUB -n 5\n", ""},
        {"#!/bin/sh\n#KSUBX -n 4\n", ""},
        {"#!/bin/sh\necho\n#KSUB -n 4\n", ""},
        {"#!/bin/sh\n#KSUB -n 4", "2:[-n][4]\n"},
        /* As in Slurm: no blank is needed, and a comment may be indented */
        {"#!/bin/sh\n#KSUB--time=5\n#KSUB-n 4\n", "2:[--time=5]\n3:[-n][4]\n"},
        {"#!/bin/sh\n  # words\n\t# words\n \t\n#KSUB -n 4\n", "5:[-n][4]\n"},
        {"#!/bin/sh\n  #KSUB -n 5\n#KSUB -n 4\n", "3:[-n][4]\n"},
        {"#!/bin/sh\n  echo # words\n#KSUB -n 4\n", ""},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        ck_assert_int_eq(words_of("#KSUB", cases[i][0], strlen(cases[i][0]), &out), 0);
        ck_assert_msg(strcmp(out.text, cases[i][1]) == 0, "case %zu: %s", i, out.text);
    }
}
END_TEST

START_TEST(a_quote_that_is_not_closed_is_refused)
{
    static const char text[] = "#!/bin/sh\n#KSUB -J 'a\n'\n";
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    ck_assert_int_eq(words_of("#KSUB", text, strlen(text), &out), -EINVAL);
}
END_TEST

START_TEST(a_directive_that_fills_the_script_is_refused_cheaply)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_add_text(&text, "#KSUB");
    for (int i = 0; i < 1000000; i++)
        strbuf_add_text(&text, " a");

    ck_assert_int_eq(words_of("#KSUB", text.text, text.length, &out), -EINVAL);
}
END_TEST

START_TEST(utf8_is_told_from_other_bytes)
{
    static const struct {
        const char *text;
        bool is_utf8;
    } cases[] = {
        {"", true},
        {"plain", true},
        {"\xc3\xa9", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\x98\x80", true},
        {"\xe9t\xe9", false},        /* Latin 1 */
        {"\xc0\xaf", false},         /* overlong */
        {"\xe0\x80\xaf", false},     /* overlong */
        {"\xed\xa0\x80", false},     /* surrogate */
        {"\xf4\x90\x80\x80", false}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", false},
        {"\xe2\x82", false}, /* cut short */
        {"\x80", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_msg(job_script_is_utf8(cases[i].text, strlen(cases[i].text)) == cases[i].is_utf8,
                      "case %zu", i);
}
END_TEST

SUITE("job_script", a_script_that_begins_with_an_interpreter_is_good,
      a_file_that_is_no_script_is_refused_with_what_to_do,
      a_script_may_be_four_mebibytes_and_no_more, directives_are_read_to_the_first_command,
      lines_for_slurm_are_read_as_slurm_reads_them, a_quote_that_is_not_closed_is_refused,
      a_directive_that_fills_the_script_is_refused_cheaply, utf8_is_told_from_other_bytes)
