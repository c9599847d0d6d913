/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/scrontab_table.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(an_entry_has_the_lines_before_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    static const char text[] = "# about\n\nA = \"it's\"\n#SCRON -t 5 -J 'a b'\n#SCRON --mem=1G\n"
                               "  */5 1 * *\t7   $HOME/x  a # b\n@daily y\n# end";
    struct scrontab_table t;

    ck_assert_int_eq(scrontab_table_parse(text, arena, &t, NULL), 0);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_str_eq(t.entries[0].schedule, "*/5 1 * *\t7");
    ck_assert_str_eq(t.entries[0].command, "$HOME/x  a # b");
    ck_assert_str_eq(t.entries[0].environment, "export A='it'\\''s'\n");
    ck_assert_uint_eq(t.entries[0].n_words, 5);
    ck_assert_str_eq(t.entries[0].words[3], "a b");
    ck_assert_str_eq(t.entries[0].words[4], "--mem=1G");
    ck_assert_str_eq(t.entries[1].schedule, "@daily");
    ck_assert_uint_eq(t.entries[1].n_words, 0); /* options are for one entry, variables for all */
    ck_assert_str_eq(t.entries[1].environment, t.entries[0].environment);
    ck_assert_str_eq(t.entries[1].text, "@daily y\n# end\n");
}
END_TEST

/* The texts of the entries are the table. */
START_TEST(a_table_is_read_as_it_was_written)
{
    static const char *const tables[] = {
        "* * * * * a\n",
        "# c\nX=1\n* * * * * a\n\n# d\n@weekly b\n\n\n",
        "#SCRON -t 1\n\n* * * * * a\n#DISABLED: 1 * * * * b\n",
        "* * * * * a\n#SCRON -t 5\n#* * * * * b\n", /* the entry is commented out */
        "\n \n",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        CLEANUP_STRBUF struct strbuf again = STRBUF_INIT;
        struct scrontab_table t;

        ck_assert_int_eq(scrontab_table_parse(tables[i], arena, &t, NULL), 0);
        for (size_t k = 0; k < t.count; k++)
            strbuf_add_text(&again, t.entries[k].text);
        ck_assert_str_eq(t.count > 0 ? again.text : "\n \n", tables[i]);
    }
}
END_TEST

START_TEST(a_mistake_has_its_line)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"\nhello world\n", "line 2: expected minute"},
        {"* * * * *\n", "line 1: expected minute"},
        {"@daily\n", "line 1: expected minute"},
        {"@reboot x\n", "line 1: @reboot"},
        {"* * * * * a\n#SCRON -t 5\n", "line 2: no entry follows"},
        {"* * * * * a\n#SCRON -t 5\n# c\n#SCRON -n 2\n", "line 4: no entry follows"},
        {"# c\n#* * * * * a\n", "there is no entry, and comments"},
        {"A=b\n", "there is no entry, and comments"},
        {"#SCRON -J 'x\n* * * * * a\n", "line 2: #SCRON: a quote"},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf many = STRBUF_INIT;
    struct error err = {0};
    struct scrontab_table t;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        err = (struct error){0};
        ck_assert_int_eq(scrontab_table_parse(cases[i].text, arena, &t, &err), -EINVAL);
        ck_assert_msg(strstr(err.text, cases[i].words) == err.text, "%s", err.text);
    }
    for (unsigned i = 0; i <= SCRONTAB_ENTRIES_MOST; i++)
        strbuf_add_text(&many, "@daily a\n");
    ck_assert_int_eq(scrontab_table_parse(many.text, arena, &t, NULL), -E2BIG);
    ck_assert_int_eq(scrontab_table_parse("", arena, &t, NULL), 0);
    ck_assert_uint_eq(t.count, 0);
}
END_TEST

START_TEST(a_job_has_the_name_of_its_program)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    ck_assert_str_eq(scrontab_table_job_name("/opt/bin/run.sh a", arena), "run.sh");
    ck_assert_str_eq(scrontab_table_job_name("echo;x", arena), "echo");
    ck_assert_str_eq(scrontab_table_job_name("(cd x)", arena), "(cd");
    ck_assert_str_eq(scrontab_table_job_name(";", arena), "cron");
}
END_TEST

SUITE("scrontab_table", an_entry_has_the_lines_before_it, a_table_is_read_as_it_was_written,
      a_mistake_has_its_line, a_job_has_the_name_of_its_program)
