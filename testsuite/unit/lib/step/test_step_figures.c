/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_figures.h"

#include <errno.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(figures_come_back_as_they_were)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct step_figures f = {
        .version = STEP_FIGURES_VERSION,
        .flags = STEP_FIGURES_BEGAN | STEP_FIGURES_OVER,
        .tasks = 7,
        .exit_code = 137,
        .signal = 9,
        .cpu_user_us = 123456789012,
        .cpu_system_us = 5,
        .peak_memory_bytes = INT64_C(1) << 40,
    };
    struct step_figures back;

    step_figures_format(&f, &text);
    ck_assert_int_eq(step_figures_parse(text.text, text.length, &back), 0);
    ck_assert_mem_eq(&back, &f, sizeof(f));
}
END_TEST

START_TEST(words_of_a_user_that_are_none_are_refused)
{
    static const char *const bad[] = {
        "", "1", "1 2 3", "x", "2 1 1 1 1 1 1 1", "1 1 1 1 1 18446744073709551615 1 1"};
    char long_text[300];
    struct step_figures f;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_int_eq(step_figures_parse(bad[i], strlen(bad[i]), &f), -EBADMSG);
    memset(long_text, '1', sizeof(long_text));
    ck_assert_int_eq(step_figures_parse(long_text, sizeof(long_text), &f), -EBADMSG);
}
END_TEST

START_TEST(figures_of_nodes_are_added)
{
    struct step_figures sum = {0};
    const struct step_figures first = {.version = 1,
                                       .flags = STEP_FIGURES_BEGAN | STEP_FIGURES_OVER
                                                | STEP_FIGURES_CANCELLED,
                                       .tasks = 2,
                                       .exit_code = 3,
                                       .cpu_user_us = 10,
                                       .peak_memory_bytes = 500};
    const struct step_figures second = {.version = 1,
                                        .flags = STEP_FIGURES_BEGAN | STEP_FIGURES_TIMED_OUT,
                                        .tasks = 1,
                                        .exit_code = 137,
                                        .signal = 9,
                                        .cpu_user_us = 7,
                                        .peak_memory_bytes = 200};

    step_figures_add(&sum, &first);
    step_figures_add(&sum, &second);
    ck_assert_uint_eq(sum.flags,
                      STEP_FIGURES_BEGAN | STEP_FIGURES_TIMED_OUT | STEP_FIGURES_CANCELLED);
    ck_assert_uint_eq(sum.tasks, 3);
    ck_assert_uint_eq(sum.exit_code, 137);
    ck_assert_uint_eq(sum.signal, 9);
    ck_assert_uint_eq(sum.cpu_user_us, 17);
    ck_assert_uint_eq(sum.peak_memory_bytes, 500);
}
END_TEST

SUITE("step_figures", figures_come_back_as_they_were, words_of_a_user_that_are_none_are_refused,
      figures_of_nodes_are_added)
