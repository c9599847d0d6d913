/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <signal.h>

#include "lib/api/pod/pod_signal.h"
#include "lib/base/arena.h"
#include "testsuite/lib/suite.h"

START_TEST(a_signal_has_names_and_a_number)
{
    ck_assert_int_eq(pod_signal_number("USR1"), SIGUSR1);
    ck_assert_int_eq(pod_signal_number("sigusr1"), SIGUSR1);
    ck_assert_int_eq(pod_signal_number("9"), SIGKILL);
    ck_assert_int_eq(pod_signal_number("0"), 0);
    ck_assert_int_eq(pod_signal_number(""), 0);
    ck_assert_int_eq(pod_signal_number("SIG"), 0);
    ck_assert_int_eq(pod_signal_number("34"), 0);
    ck_assert_int_eq(pod_signal_number("999"), 0);
    ck_assert_int_eq(pod_signal_number("FOO"), 0);
    ck_assert_int_eq(pod_signal_number("USR1x"), 0);
    ck_assert_str_eq(pod_signal_name(SIGTERM), "TERM");
}
END_TEST

START_TEST(each_signal_has_the_next_number_and_the_last_ones_are_kept)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct pod_signal usr1 = {.number = SIGUSR1, .target = POD_SIGNAL_SCRIPT};
    struct pod_signal one;
    const char *list = pod_signals_add(NULL, &usr1, arena), *rest;
    int64_t expected = 13;

    ck_assert_str_eq(list, "1:USR1:Script");
    for (int i = 2; i <= 20; i++)
        list = pod_signals_add(list, &usr1, arena);
    for (rest = list; pod_signals_next(&rest, &one); expected++) {
        ck_assert_int_eq(one.sequence, expected);
        ck_assert_int_eq(one.number, SIGUSR1);
        ck_assert_int_eq(one.target, POD_SIGNAL_SCRIPT);
    }
    ck_assert_int_eq(expected, 21);
}
END_TEST

START_TEST(a_step_gets_signals_or_is_ended)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct pod_signal end = {.target = POD_SIGNAL_STEP, .step = 3, .at_s = 1764468000},
                            hup = {.number = SIGHUP, .target = POD_SIGNAL_STEP, .at_s = 7};
    const char *list = pod_signals_add(pod_signals_add(NULL, &end, arena), &hup, arena);
    struct pod_signal one;

    ck_assert_str_eq(list, "1:END:Step:3:1764468000 2:HUP:Step:0:7");
    ck_assert(pod_signals_next(&list, &one));
    ck_assert_int_eq(one.number, 0);
    ck_assert_int_eq(one.target, POD_SIGNAL_STEP);
    ck_assert_int_eq(one.step, 3);
    ck_assert_int_eq(one.at_s, 1764468000);
    ck_assert(pod_signals_next(&list, &one));
    ck_assert_int_eq(one.number, SIGHUP);
    ck_assert_int_eq(one.step, 0);
    list = "1:END:All 2:END:Step 3:END:Step:1 4:HUP:Step::7 5:HUP:Step:1:7:8 6:HUP:Step:-1:7";
    ck_assert(!pod_signals_next(&list, &one));
}
END_TEST

START_TEST(a_signal_to_a_step_names_its_sender)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct pod_signal end = {.target = POD_SIGNAL_STEP,
                                   .step = 3,
                                   .at_s = 7,
                                   .has_sender = true,
                                   .sender = 1001},
                            usr1 = {.number = SIGUSR1, .target = POD_SIGNAL_ALL};
    const char *list = pod_signals_add(pod_signals_add(NULL, &end, arena), &usr1, arena);
    struct pod_signal one;

    ck_assert_str_eq(list, "1:END:Step:3:7 1:By:1001 2:USR1:All");
    ck_assert(pod_signals_next(&list, &one));
    ck_assert(one.has_sender);
    ck_assert_int_eq(one.sender, 1001);
    ck_assert(pod_signals_next(&list, &one));
    ck_assert_int_eq(one.number, SIGUSR1);
    ck_assert(!one.has_sender);
    ck_assert(!pod_signals_next(&list, &one));
    list =
        "1:END:Step:3:7 2:By:8 3:END:Step:3:7 3:By:-8 4:END:Step:1:7 4:By:8x 5:END:Step:1:7 5:By:99999999999 6:INT:All 6:By:7";
    for (int i = 0; i < 5; i++) {
        ck_assert(pod_signals_next(&list, &one));
        ck_assert(!one.has_sender);
    }
    ck_assert(!pod_signals_next(&list, &one));
}
END_TEST

START_TEST(an_unreadable_entry_is_skipped)
{
    const char *list =
        "x 0:USR1:All 9223372036854775807:INT:All 5:FOO:All 6:USR1:Nobody 7 8:TERM:Children  9:INT:All:more";
    struct pod_signal one;

    ck_assert(pod_signals_next(&list, &one));
    ck_assert_int_eq(one.sequence, 8);
    ck_assert_int_eq(one.number, SIGTERM);
    ck_assert_int_eq(one.target, POD_SIGNAL_CHILDREN);
    ck_assert(!pod_signals_next(&list, &one));
}
END_TEST

SUITE("pod_signal", a_signal_has_names_and_a_number,
      each_signal_has_the_next_number_and_the_last_ones_are_kept, a_step_gets_signals_or_is_ended,
      a_signal_to_a_step_names_its_sender, an_unreadable_entry_is_skipped)
