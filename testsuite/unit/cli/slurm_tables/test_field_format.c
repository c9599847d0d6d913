/* SPDX-License-Identifier: Apache-2.0 */
/* Expected lines are what Debian's Slurm 22.05 printed for a job 1 named "a b|c". */
#include "cli/slurm_tables/field_format.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

struct fake_row {
    const char *id, *name;
};

static void
add_id(const void *row, struct strbuf *out)
{
    strbuf_add_text(out, ((const struct fake_row *)row)->id);
}

static void
add_name(const void *row, struct strbuf *out)
{
    strbuf_add_text(out, ((const struct fake_row *)row)->name);
}

static void
add_limit(UNUSED const void *row, struct strbuf *out)
{
    strbuf_add_text(out, "1-02:04:00");
}

static const struct output_column items[] = {
    {'i', "JobID", "JOBID", add_id, -12},
    {'j', "Name", "NAME", add_name, 10},
    {'l', "TimeLimit", "TIME", add_limit, COLUMN_NEVER_CUT},
};
static const struct output_columns columns = {items, ARRAY_SIZE(items)};
static const struct fake_row row = {"1", "a b|c"};

START_TEST(letters_have_widths_and_text_around_them)
{
    static const struct {
        const char *format, *heading, *line;
    } cases[] = {
        {"%.5i|%5i|%i|%.3j|%3j|%j", "JOBID|JOBID|JOBID|NAM|NAM|NAME\n",
         "    1|1    |1|a b|a b|a b|c\n"},
        {"x%iy", "xJOBIDy\n", "x1y\n"},
        {"x", "x\n", "x\n"},
        {"", "\n", "\n"},
        {"%%i", "JOBID\n", "1\n"},
        {"%i%", "JOBID\n", "1\n"},
        {"%all", "JOBID|NAME|TIME\n", "1|a b|c|1-02:04:00\n"},
        {"%.3l", "TIM\n", "1-02:04:00\n"},
        {"%12l|", "TIME        |\n", "1-02:04:00  |\n"},
        {"%j\\n%i\\t|", "NAME\\nJOBID\\t|\n", "a b|c\\n1\\t|\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct output_format f = field_format_of_letters(arena, &columns, cases[i].format);

        field_format_add_line(&f, NULL, &out);
        ck_assert_str_eq(out.text, cases[i].heading);
        strbuf_truncate(&out, 0);
        field_format_add_line(&f, &row, &out);
        ck_assert_str_eq(out.text, cases[i].line);
        ck_assert_uint_eq(f.n_unknown, 0);
    }
}
END_TEST

START_TEST(unknown_letters_stay_as_they_were_written)
{
    static const struct {
        const char *format, *line, *unknown;
    } cases[] = {
        {"%i|%7", "1|%7\n", ""},
        {"%.10", "%.10\n", ""},
        {"%5.3i|%-5i|", "%5.3i|%-5i|\n", "."},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct output_format f = field_format_of_letters(arena, &columns, cases[i].format);

        field_format_add_line(&f, &row, &out);
        ck_assert_str_eq(out.text, cases[i].line);
        ck_assert_uint_gt(f.n_unknown, 0);
        ck_assert_str_eq(f.unknown[0], cases[i].unknown);
    }
}
END_TEST

START_TEST(names_have_widths_and_suffixes)
{
    static const struct {
        const char *format, *heading, *line;
    } cases[] = {
        {"JobID,Name", "JOBID               NAME                \n",
         "1                   a b|c               \n"},
        {"JobID:8,Name:.8,JobID:3", "JOBID       NAMEJOB\n", "1          a b|c1  \n"},
        {"JobID:|,Name:^,Name:.|", "JOBID|NAME^NAME|\n", "1|a b|c^a b|c|\n"},
        {"JobID:8|,Name:.12xyz,JobID:", "JOBID   |        NAMExyzJOBID\n",
         "1       |       a b|cxyz1\n"},
        {"JobID:\x1f,Name:\x1f", "JOBID\x1fNAME\x1f\n",
         "1\x1f"
         "a b|c\x1f\n"},
        {"jobid:5 ,NAME:3", "JOBID NAM\n", "1     a b\n"},
        {"foo,Name", "NAME                \n", "a b|c               \n"},
        {"Name:,,JobID", "NAMEJOBID               \n", "a b|c1                   \n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct output_format f = field_format_of_names(arena, &columns, cases[i].format);

        field_format_add_line(&f, NULL, &out);
        ck_assert_str_eq(out.text, cases[i].heading);
        strbuf_truncate(&out, 0);
        field_format_add_line(&f, &row, &out);
        ck_assert_str_eq(out.text, cases[i].line);
    }
}
END_TEST

START_TEST(a_list_is_a_table_or_has_delimiters)
{
    static const struct {
        const char *format, *delimiter;
        bool ends_with_it;
        const char *text;
    } cases[] = {
        {"jobid,name", NULL, false,
         "JobID              Name \n------------ ---------- \n1                 a b|c \n"},
        {"jobid%4,name%-3", NULL, false, "JobI Nam \n---- --- \n   1 a + \n"},
        {"jobid,name", "|", false, "JobID|Name\n1|a b|c\n"},
        {"jobid,name%3", "|", true, "JobID|Name|\n1|a b|c|\n"},
        {"name", "\x1f", false, "Name\na b|c\n"},
        {"j, NA", "|", false, "JobID|Name\n1|a b|c\n"},
        {"name,all", "|", false, "Name|JobID|Name\na b|c|1|a b|c\n"},
    };
    static const struct output_column plain[] = {
        {0, "JobID", NULL, add_id, -12},
        {0, "Name", NULL, add_name, 10},
    };
    static const struct output_columns all = {plain, ARRAY_SIZE(plain)};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct output_format f = field_format_of_list(arena, &all, cases[i].format);
        const struct list_style style = {cases[i].delimiter, cases[i].ends_with_it};

        field_format_add_list_headings(&f, &style, &out);
        field_format_add_list(&f, &style, &row, &out);
        ck_assert_str_eq(out.text, cases[i].text);
    }
}
END_TEST

START_TEST(a_name_makes_no_second_line_and_is_not_cut_within_a_character)
{
    static const struct {
        const char *format, *name, *line;
    } cases[] = {
        {"%j|", "a\nb\t\033[1m", "a?b??[1m|\n"},
        {"%4j|", "aé€", "aé |\n"},
        {"%.2j|", "€", "  |\n"},
        {"%j|", "x\x7f", "x?|\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct output_format f = field_format_of_letters(arena, &columns, cases[i].format);
        const struct fake_row named = {"1", cases[i].name};

        field_format_add_line(&f, &named, &out);
        ck_assert_str_eq(out.text, cases[i].line);
    }
}
END_TEST

START_TEST(a_value_cannot_steer_the_terminal)
{
    static const struct fake_row evil = {"1", "a\nb\033c\302\233d\342\200\256e\303\251"};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct list_style parsable = {.delimiter = "|"};
    struct output_format f = field_format_of_letters(arena, &columns, "%.7j|%j");

    field_format_add_line(&f, &evil, &out);
    ck_assert_str_eq(out.text, "a?b?c?d|a?b?c?d?e\303\251\n");
    strbuf_truncate(&out, 0);
    f = field_format_of_list(arena, &columns, "jobid,name");
    field_format_add_list(&f, &parsable, &evil, &out);
    ck_assert_str_eq(out.text, "1|a?b?c?d?e\303\251\n");
}
END_TEST

SUITE("field_format", letters_have_widths_and_text_around_them,
      unknown_letters_stay_as_they_were_written, names_have_widths_and_suffixes,
      a_list_is_a_table_or_has_delimiters,
      a_name_makes_no_second_line_and_is_not_cut_within_a_character,
      a_value_cannot_steer_the_terminal)
