/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

struct target {
    bool verbose;
    const char *topology;
    struct option_texts labels;
    int64_t port;
    int64_t calls;
};

static int
count_call(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    if (strcmp(value, "bad") == 0)
        return error_set(err, -EINVAL, "%s", (const char *)option->data);
    ((struct target *)target)->calls++;
    return 0;
}

static int
take_or_leave(UNUSED const struct option_spec *option, const char *value, void *target,
              UNUSED struct error *err)
{
    ((struct target *)target)->topology = value != NULL ? value : "nothing";
    return 0;
}

#define AT(member) .offset = offsetof(struct target, member)

static const struct option_spec rows[] = {
    {"verbose", 'v', NULL, "say more", OPTION_FLAG, AT(verbose)},
    {"topology", 't', "FILE",
     "take the hardware from FILE instead of discovering it, which is for "
     "tests",
     OPTION_TEXT, AT(topology)},
    {"label", 'l', "NAME=VALUE", "add a label", OPTION_TEXTS, AT(labels)},
    {"port", 0, "PORT", "listen there", OPTION_INT, AT(port), .min = 1, .max = 65535},
    {"perhaps", 'p', "[=WHAT]", NULL, OPTION_CALL, .set = take_or_leave},
    {"call", 0, "WHAT", NULL, OPTION_CALL, .set = count_call, .data = "never that"},
};

static const struct option_table table = {
    .name = "kiln-thing",
    .usage = "[OPTION]... NODE...\n--version",
    .summary = "Does a thing.",
    OPTION_ROWS(rows),
    .more = "Exit status: 0.",
    .has_version = true,
};

/* A command line in one string, with one space between words. */
struct line {
    char text[256];
    char *argv[32];
    int argc;
};

static void
split(struct line *line, const char *text)
{
    char *rest = line->text;

    snprintf(line->text, sizeof(line->text), "%s", text);
    line->argc = 0;
    line->argv[line->argc++] = (char[]){"kiln-thing"};
    while (*text != '\0' && rest != NULL)
        line->argv[line->argc++] = strsep(&rest, " ");
    line->argv[line->argc] = NULL;
}

static int
parse(const struct option_table *t, struct line *line, const char *text, struct target *target,
      struct error *err)
{
    int operands = -1;
    int r;

    *target = (struct target){0};
    split(line, text);
    r = option_parse(t, line->argc, line->argv, target, &operands, err);
    return r == 0 ? operands : r;
}

START_TEST(options_of_every_type_reach_the_target)
{
    struct target got;
    struct line line;
    struct error err = {0};

    ck_assert_int_eq(parse(&table, &line,
                           "-v --topology=x -l a=1 --port 80 --label b=2 "
                           "--call x --call y",
                           &got, &err),
                     line.argc);

    ck_assert(got.verbose);
    ck_assert_str_eq(got.topology, "x");
    ck_assert_uint_eq(got.labels.count, 2);
    ck_assert_str_eq(got.labels.items[0], "a=1");
    ck_assert_str_eq(got.labels.items[1], "b=2");
    ck_assert_int_eq(got.port, 80);
    ck_assert_int_eq(got.calls, 2);
    free(got.labels.items);
}
END_TEST

START_TEST(every_way_to_write_an_option_is_the_same)
{
    static const char *const ways[] = {
        "-v -t x n1",   "-vtx n1", "n1 --verbose --topology x", "--verb --topology=x n1",
        "-v -tx -- n1",
    };

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct target got;
        struct line line;
        struct error err = {0};
        int operands = parse(&table, &line, ways[i], &got, &err);

        ck_assert_int_eq(operands, line.argc - 1);
        ck_assert_str_eq(line.argv[operands], "n1");
        ck_assert(got.verbose);
        ck_assert_str_eq(got.topology, "x");
    }
}
END_TEST

START_TEST(words_after_the_first_operand_may_be_another_programs)
{
    struct option_table stopping = table;
    struct target got;
    struct line line;
    struct error err = {0};
    int operands;

    stopping.stops_at_operand = true;
    operands = parse(&stopping, &line, "-v script --port -t", &got, &err);

    ck_assert_int_eq(operands, 2);
    ck_assert_str_eq(line.argv[operands], "script");
    ck_assert_ptr_null(got.topology);
}
END_TEST

START_TEST(mistakes_are_told_in_a_few_words)
{
    static const struct {
        const char *line;
        const char *words;
    } cases[] = {
        {"--topology", "--topology needs a value"},
        {"-t", "-t needs a value"},
        {"--topolgy x", "unknown option '--topolgy' (did you mean '--topology'?)"},
        {"--topolgy=x", "unknown option '--topolgy' (did you mean '--topology'?)"},
        {"--ver", "--ver could mean several options"},
        {"--nothing-like-it", "unknown option '--nothing-like-it'"},
        {"-x", "unknown option '-x'"},
        {"-vx", "unknown option '-x'"},
        {"--verbose=3", "--verbose takes no value"},
        {"--help=3", "--help=3 takes no value"},
        {"--port 0", "--port: '0' is not a number from 1 to 65535"},
        {"--port 65536", "--port: '65536' is not a number from 1 to 65535"},
        {"--port 1x", "--port: '1x' is not a number from 1 to 65535"},
        {"--port=", "--port: '' is not a number from 1 to 65535"},
        {"--port 99999999999999999999",
         "--port: '99999999999999999999' is not a number from 1 to 65535"},
        {"--call bad", "--call: never that"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct target got;
        struct line line;
        struct error err = {0};

        ck_assert_int_eq(parse(&table, &line, cases[i].line, &got, &err), -EINVAL);
        ck_assert_str_eq(err.text, cases[i].words);
    }
}
END_TEST

START_TEST(a_value_may_be_left_out_where_the_table_says_so)
{
    static const struct {
        const char *line, *value;
    } cases[] = {
        {"--perhaps=x", "x"}, {"--perhaps", "nothing"}, {"--perhaps -v", "nothing"},
        {"-px", "x"},         {"-p", "nothing"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct target got;
        struct line line;
        struct error err = {0};

        ck_assert_int_eq(parse(&table, &line, cases[i].line, &got, &err), line.argc);
        ck_assert_str_eq(got.topology, cases[i].value);
    }
}
END_TEST

/* Reading continues, so that all mistakes of a script are reported together. */
START_TEST(after_a_mistake_the_rest_can_be_read)
{
    static const struct {
        const char *line;
        int next;
    } cases[] = {
        {"-v --port 0 -t x", 4}, {"--port=0 -t x", 2}, {"--bogus -t x", 2},
        {"-x -t x", 2},          {"-v -t", 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct target got = {0};
        struct line line;
        int next = -1;

        split(&line, cases[i].line);
        ck_assert_int_lt(option_parse(&table, line.argc, line.argv, &got, &next, NULL), 0);
        ck_assert_msg(next == cases[i].next, "%s: %d", cases[i].line, next);
    }
}
END_TEST

START_TEST(help_and_version_are_answers)
{
    struct target got;
    struct line line;
    struct option_table plain = table;
    struct error err = {0};

    plain.has_version = false;
    ck_assert_int_eq(parse(&table, &line, "-h --port x", &got, &err), OPTION_HELP);
    ck_assert_int_eq(parse(&table, &line, "--help", &got, &err), OPTION_HELP);
    ck_assert_int_eq(parse(&table, &line, "--version", &got, &err), OPTION_VERSION);
    ck_assert_int_eq(parse(&plain, &line, "--version", &got, &err), -EINVAL);
}
END_TEST

START_TEST(the_letter_of_help_can_be_another_options)
{
    static const struct option_spec own[] = {
        {"human", 'h', NULL, "for people", OPTION_FLAG, AT(verbose)},
    };
    const struct option_table t = {.name = "x", .usage = "", .summary = "X.", OPTION_ROWS(own)};
    CLEANUP_STRBUF struct strbuf help = STRBUF_INIT;
    struct target got;
    struct line line;
    struct error err = {0};

    ck_assert_int_eq(parse(&t, &line, "-h", &got, &err), 2);
    ck_assert(got.verbose);
    option_format_help(&t, &help);
    ck_assert_ptr_null(strstr(help.text, "-h, --help"));
}
END_TEST

START_TEST(help_is_formatted_to_fit_a_terminal)
{
    CLEANUP_STRBUF struct strbuf help = STRBUF_INIT;

    option_format_help(&table, &help);

    ck_assert_str_eq(help.text, "usage: kiln-thing [OPTION]... NODE...\n"
                                "       kiln-thing --version\n"
                                "\n"
                                "Does a thing.\n"
                                "\n"
                                "Options:\n"
                                "  -v, --verbose           say more\n"
                                "  -t, --topology FILE     take the hardware from FILE instead of "
                                "discovering\n"
                                "                          it, which is for tests\n"
                                "  -l, --label NAME=VALUE  add a label\n"
                                "      --port PORT         listen there\n"
                                "  -h, --help              show this, and exit\n"
                                "      --version           show the version, and exit\n"
                                "\n"
                                "Exit status: 0.\n");
}
END_TEST

START_TEST(long_lines_below_the_options_are_wrapped_and_others_stay)
{
    CLEANUP_STRBUF struct strbuf help = STRBUF_INIT;
    struct option_table with_columns = table;
    const char *below;

    with_columns.more = "Columns: identifier, name, user, account, partition, state, attempt, "
                        "ended, elapsed, nodes, reason, message\n"
                        "\n"
                        "  command  Do a thing that takes so many words to describe that they do "
                        "not fit into a line of a terminal\n"
                        "\n"
                        "Example:\n"
                        "  kiln-thing --port  1";
    option_format_help(&with_columns, &help);
    below = strstr(help.text, "Columns:");

    ck_assert_ptr_nonnull(below);
    ck_assert_str_eq(below,
                     "Columns: identifier, name, user, account, partition, state, attempt, "
                     "ended,\n"
                     "elapsed, nodes, reason, message\n"
                     "\n"
                     "  command  Do a thing that takes so many words to describe that they do "
                     "not fit\n"
                     "           into a line of a terminal\n"
                     "\n"
                     "Example:\n"
                     "  kiln-thing --port  1\n");
}
END_TEST

SUITE("option", options_of_every_type_reach_the_target, every_way_to_write_an_option_is_the_same,
      words_after_the_first_operand_may_be_another_programs, mistakes_are_told_in_a_few_words,
      a_value_may_be_left_out_where_the_table_says_so, after_a_mistake_the_rest_can_be_read,
      help_and_version_are_answers, the_letter_of_help_can_be_another_options,
      help_is_formatted_to_fit_a_terminal, long_lines_below_the_options_are_wrapped_and_others_stay)
