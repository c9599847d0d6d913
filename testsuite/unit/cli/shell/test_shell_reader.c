/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell/shell_reader.h"

#include <check.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* Commands as "line:name", names that are looked up as "line?name", comments as
 * "line#".
 */
static void
note(enum shell_part part, const char *text, size_t length, unsigned line, void *context)
{
    struct strbuf *out = context;

    strbuf_printf(out, "%u%c%.*s ", line, ":?#"[part], part == SHELL_COMMENT ? 0 : (int)length,
                  text);
}

static void
check_cases(const char *const cases[][2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        shell_reader_visit(cases[i][0], strlen(cases[i][0]), note, &out);
        ck_assert_msg(strcmp(out.length > 0 ? out.text : "", cases[i][1]) == 0, "%s\nhas %s",
                      cases[i][0], out.length > 0 ? out.text : "nothing");
    }
}

START_TEST(commands_are_found_wherever_they_are_in_a_line)
{
    static const char *const cases[][2] = {
        {"a x y", "1:a "},
        {"\n\n  a", "3:a "},
        {"A=1 B+=2 C[1]=3 a x", "1:a "},
        {"a; b && c || d | e & f", "1:a 1:b 1:c 1:d 1:e 1:f "},
        {"if a; then b; elif c; then d; else e; fi", "1:a 1:b 1:c 1:d 1:e 1:fi "},
        {"while ! a; do b; done", "1:a 1:b 1:done "},
        {"for i in a b; do c $i; done", "1:for 1:c 1:done "},
        {"{ a; }; (b; c)", "1:a 1:} 1:b 1:c "},
        {"time -p a", "1:time 1:a "},
        {"timeout 60 nice -n 5 env -i A=1 a b", "1:timeout 1:nice 1:env 1:a "},
        {"/usr/bin/time -v a", "1:/usr/bin/time 1:a "},
        {"eval \"a b\"", "1:eval 1:a b "},
        {"x=$(a b $(c))", "1:a 1:c "},
        {"x=\"it is `a` and $(b)\" c", "1:a 1:b 1:c "},
        {"echo ${x:-$(a)}", "1:echo 1:a "},
        {"a \\\n  b\nc", "1:a 3:c "},
        {"time \\\n  a", "1:time 2:a "},
        {"\"a\" x; 'b' y", "1:a 1:b "},
        {"a >f 2>&1 <g; >h b; 2>/dev/null c", "1:a 1:b 1:c "},
        {"a &>f; b", "1:a 1:b "},
        {"a <(b) >(c)", "1:a 1:b 1:c "},
        {"case $x in a) b ;; (c|d) e ;; *) f; esac; g", "1:b 1:e 1:f 1:g "},
        {"case $x in\na)\n b ;;\nesac\nc", "3:b 5:c "},
        {"x=$(case $y in a) b;; esac); c", "1:b 1:c "},
        {"((i << 2)); a $((1 << 2)) && b", "1:a 1:b "},
        {"x=(a b\n c); d", "2:d "},
        {"[[ a == b ]] && c", "1:[[ 1:c "},
    };

    check_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(texts_are_no_commands)
{
    static const char *const cases[][2] = {
        {"echo a; # b; c", "1:echo 1# "},
        {"# a", "1# "},
        {"echo x#b; echo $# ${#a} ${a# b}", "1:echo 1:echo "},
        {"echo 'a; b\nc'\nd", "1:echo 3:d "},
        {"echo \"a; b\nc\"\nd", "1:echo 3:d "},
        {"echo $'it\\'s; a'; b", "1:echo 1:b "},
        {"cat <<END\na\n# b\nEND\nc", "1:cat 5:c "},
        {"cat <<-'E N' >f\na\n\tE N\nc", "1:cat 4:c "},
        {"cat <<A <<B; b\na\nA\nb\nB\nc", "1:cat 1:b 6:c "},
        {"cat <<< a; b", "1:cat 1:b "},
        {"cat <<NEVER\na", "1:cat 2:a "},
        {"echo \"$x'\"; a", "1:echo 1:a "},
        {"echo \"${x:-it's}\"; a", "1:echo 1:a "},
        {"$a b", ""},
    };

    check_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(names_that_a_script_looks_up_are_told)
{
    static const char *const cases[][2] = {
        {"if command -v a >/dev/null; then a; fi", "1:command 1?a 1:a 1:fi "},
        {"command a", "1:command 1:a "},
        {"which a; type b", "1:which 1?a 1:type 1?b "},
        {"alias a='b c'", "1:alias 1?a=b c "},
        {"a() { b; }", "1?a 1:b 1:} "},
        {"function a { b; }", "1?a 1:b 1:} "},
    };

    check_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(any_text_is_read_to_its_end)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    static const char *const pieces[] = {"$(", "`", "\"", "${", "((", ")", "<<x\n", "'", "\\", "#"};

    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        strbuf_truncate(&text, 0);
        for (int k = 0; k < 100000; k++)
            strbuf_add_text(&text, pieces[i]);
        shell_reader_visit(text.text, text.length, note, &out);
    }
    shell_reader_visit("", 0, note, &out);
}
END_TEST

SUITE("shell_reader", commands_are_found_wherever_they_are_in_a_line, texts_are_no_commands,
      names_that_a_script_looks_up_are_told, any_text_is_read_to_its_end)
