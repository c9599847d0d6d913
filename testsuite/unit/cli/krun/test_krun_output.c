/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_output.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct strbuf out = STRBUF_INIT;

static void
add(struct krun_output *o, uint32_t task, const char *text)
{
    krun_output_add(o, task, text, strlen(text), &out);
}

/* The text so far, which is then forgotten. */
static const char *
written(void)
{
    static char text[8192];

    snprintf(text, sizeof(text), "%s", out.length > 0 ? out.text : "");
    strbuf_truncate(&out, 0);
    return text;
}

START_TEST(lines_of_tasks_do_not_mix)
{
    struct krun_output *o = krun_output_new(2, false, false);

    add(o, 0, "a");
    add(o, 1, "b");
    ck_assert_str_eq(written(), "");
    add(o, 0, "a\nc");
    ck_assert_str_eq(written(), "aa\n");
    add(o, 1, "b\n\n");
    ck_assert_str_eq(written(), "bb\n\n");
    krun_output_add(o, 0, NULL, 0, &out);
    ck_assert_str_eq(written(), "c");
    add(o, 1, "rest");
    krun_output_flush(o, &out);
    ck_assert_str_eq(written(), "rest");
    krun_output_free(o);
}
END_TEST

START_TEST(labels_begin_each_line_and_have_the_same_width)
{
    struct krun_output *o = krun_output_new(11, true, false);

    add(o, 3, "one\ntwo\n");
    add(o, 10, "three\n");
    ck_assert_str_eq(written(), " 3: one\n 3: two\n10: three\n");
    add(o, 3, "open");
    krun_output_add(o, 3, NULL, 0, &out);
    add(o, 10, "next\n");
    ck_assert_str_eq(written(), " 3: open\n10: next\n");
    krun_output_free(o);
}
END_TEST

START_TEST(one_task_is_passed_on_as_it_comes)
{
    struct krun_output *o = krun_output_new(1, false, false);

    add(o, 0, "Password: ");
    ck_assert_str_eq(written(), "Password: ");
    krun_output_free(o);
}
END_TEST

START_TEST(unbuffered_output_does_not_wait_for_the_end_of_a_line)
{
    struct krun_output *o = krun_output_new(2, true, true);

    add(o, 0, "a");
    ck_assert_str_eq(written(), "0: a");
    add(o, 0, "b");
    add(o, 1, "c\n");
    ck_assert_str_eq(written(), "b\n1: c\n");
    krun_output_free(o);
}
END_TEST

START_TEST(memory_for_open_lines_is_bounded)
{
    struct krun_output *o = krun_output_new(1000, false, false);
    char bytes[KRUN_OUTPUT_PART];
    size_t sent = 0;

    memset(bytes, 'x', sizeof(bytes));
    krun_output_add(o, 0, bytes, sizeof(bytes), &out);
    ck_assert_uint_eq(out.length, sizeof(bytes));
    strbuf_truncate(&out, 0);
    for (uint32_t task = 0; task < 1000; task++) {
        krun_output_add(o, task, bytes, 1000, &out);
        sent += 1000;
    }
    ck_assert_uint_ge(out.length + KRUN_OUTPUT_HELD, sent);
    krun_output_flush(o, &out);
    ck_assert_uint_eq(out.length, sent);
    strbuf_truncate(&out, 0);
    krun_output_add(o, 1000, "?", 1, &out);
    ck_assert_uint_eq(out.length, 0);
    krun_output_free(o);
}
END_TEST

SUITE("krun_output", lines_of_tasks_do_not_mix, labels_begin_each_line_and_have_the_same_width,
      one_task_is_passed_on_as_it_comes, unbuffered_output_does_not_wait_for_the_end_of_a_line,
      memory_for_open_lines_is_bounded)
