/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_programs.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;

/* The words of each task: "a|b; c|d", or the text of the error. */
static const char *
read_programs(const char *text, unsigned n_tasks)
{
    static const char *const more[] = {"more"};
    struct step_programs *p;
    struct error error = {0};
    struct strbuf out = STRBUF_INIT;
    char *result;

    if (step_programs_parse(arena, text, n_tasks, &p, &error) < 0)
        return arena_strdup(arena, error.text);
    for (unsigned task = 0; task < n_tasks; task++) {
        const char **words = step_programs_arguments(arena, p, task, more, task == 0 ? 1 : 0);

        strbuf_add_text(&out, task > 0 ? "; " : "");
        for (unsigned i = 0; words[i] != NULL; i++)
            strbuf_printf(&out, "%s%s", i > 0 ? "|" : "", words[i]);
    }
    result = arena_strdup(arena, out.text);
    strbuf_fini(&out);
    return result;
}

START_TEST(each_task_runs_its_line)
{
    static const struct {
        const char *text;
        unsigned n_tasks;
        const char *expected;
    } cases[] = {
        {"0 a", 1, "a|more"},
        {"# comment\n\n0-1 echo %t %o\n2 b\n", 3, "echo|0|0|more; echo|1|1; b"},
        {"1,3 w %o\n* m %t/%o%%\n", 4, "m|0/0%%|more; w|0; m|2/1%%; w|1"},
        {"0 sh -c 'echo a b' \"x y\" c\\ d ''", 1, "sh|-c|echo a b|x y|c d||more"},
        {"0 a \\\n  b\n1 c", 2, "a|b|more; c"},
        {"0 'it''s' \"a\\\"b\"\r\n", 1, "its|a\"b|more"},
        {"0\ta\t\n", 1, "a|more"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_str_eq(read_programs(cases[i].text, cases[i].n_tasks), cases[i].expected);
    arena_free(arena);
}
END_TEST

START_TEST(a_bad_file_is_refused_with_its_line)
{
    static const struct {
        const char *text;
        unsigned n_tasks;
        const char *expected;
    } cases[] = {
        {"", 1, "No executable program specified for this task: 0"},
        {"0 a\n2 b\n", 3, "No executable program specified for this task: 1"},
        {"0 a\n\nx b\n", 2, "line 3: 'x' names no tasks"},
        {"4-0 a\n", 5, "line 1: '4-0' names no tasks"},
        {"0\n", 1, "line 1: a program must follow the tasks"},
        {"0-2 a\n", 2, "line 1: there is no task 2; the step has 2 tasks"},
        {"1 a\n", 1, "line 1: there is no task 1; the step has 1 task"},
        {"0-4000000000 a\n", 2, "there is no task 4000000000"},
        {"0-1 a\n# c\n1 b\n", 2, "line 3: task 1 already has a program, in line 1"},
        {"* a\n* b\n", 2, "line 2: line 1 already has all other tasks"},
        {"0 'a b\n", 1, "line 1: a quote (') is not closed"},
        {"0 a \\\nb \"c\n", 1, "line 2: a quote"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = read_programs(cases[i].text, cases[i].n_tasks);

        ck_assert_msg(strstr(text, cases[i].expected) != NULL, "%s: %s", cases[i].text, text);
    }
    arena_free(arena);
}
END_TEST

SUITE("step_programs", each_task_runs_its_line, a_bad_file_is_refused_with_its_line)
