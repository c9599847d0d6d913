/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_pmi.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/krun/krun_link.h"
#include "lib/base/alloc.h"
#include "lib/step/step_frames.h"
#include "testsuite/lib/suite.h"

static struct krun_link links[3];
static struct krun_pmi pmi;

static void
setup(void)
{
    memset(links, 0, sizeof(links));
    for (unsigned i = 0; i < 3; i++)
        strbuf_init(&links[i].out);
    krun_pmi_begin(&pmi, links, 3);
}

static void
teardown(void)
{
    for (unsigned i = 0; i < 3; i++)
        strbuf_fini(&links[i].out);
    krun_pmi_fini(&pmi);
}

static int
take(unsigned index, const char *lines)
{
    return krun_pmi_take(&pmi, &links[index],
                         &(struct step_frame){.type = STEP_FRAME_PMI,
                                              .task = STEP_ALL_TASKS,
                                              .payload = lines,
                                              .length = strlen(lines)});
}

/* What was sent to a node: "PMI a=b;|PMI |ABORT 5 of 3|". */
static const char *
sent(unsigned index)
{
    static char text[512];
    struct step_reader reader = {0};
    struct step_frame f;
    size_t room;

    text[0] = '\0';
    if (links[index].out.length > 0) {
        char *at = step_reader_space(&reader, &room);

        ck_assert_uint_le(links[index].out.length, room);
        memcpy(at, links[index].out.text, links[index].out.length);
        step_reader_add(&reader, links[index].out.length);
    }
    while (step_reader_next(&reader, &f) == 1) {
        const size_t n = strlen(text);
        uint32_t code = 0;

        if (f.type == STEP_FRAME_ABORT) {
            ck_assert_int_eq(step_frame_number(&f, &code), 0);
            snprintf(text + n, sizeof(text) - n, "ABORT %u of %u|", code, f.task);
        } else {
            snprintf(text + n, sizeof(text) - n, "PMI %.*s|", (int)f.length, f.payload);
        }
    }
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\n' ? ';' : *c;
    step_reader_fini(&reader);
    strbuf_truncate(&links[index].out, 0);
    return text;
}

START_TEST(all_nodes_get_the_lines_of_all_when_the_last_is_in)
{
    setup();
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(take(1, "b=1\n"), 0);
        ck_assert_int_eq(take(1, ""), 0);
        ck_assert_int_eq(take(0, "a=1\na2=2\n"), 0);
        ck_assert_int_eq(take(0, ""), 0);
        ck_assert_str_eq(sent(0), "");
        ck_assert_int_eq(take(2, ""), 0);
        for (unsigned i = 0; i < 3; i++)
            ck_assert_str_eq(sent(i), "PMI b=1;a=1;a2=2;|PMI |");
    }
    teardown();
}
END_TEST

START_TEST(a_task_that_has_left_ends_those_that_wait_for_it)
{
    setup();
    krun_pmi_end_task(&pmi, &links[2], 5, &(struct step_exit){.exit_code = 3});
    ck_assert_str_eq(sent(0), "");
    ck_assert_int_eq(take(0, ""), 0);
    ck_assert_str_eq(sent(0), "ABORT 3 of 5|");
    ck_assert_str_eq(sent(1), "ABORT 3 of 5|");
    teardown();

    setup();
    ck_assert_int_eq(take(0, ""), 0);
    krun_pmi_end_task(&pmi, &links[1], 2, &(struct step_exit){.signal = SIGSEGV});
    ck_assert_str_eq(sent(2), "ABORT 139 of 2|");
    ck_assert_int_eq(take(2, ""), 0);
    ck_assert_str_eq(sent(0), "ABORT 139 of 2|");
    teardown();
}
END_TEST

START_TEST(an_abort_goes_to_the_other_nodes_once)
{
    struct step_frame f = {.type = STEP_FRAME_ABORT, .task = 4};
    static const char five[] = {0, 0, 0, 5};

    setup();
    links[2].has_ended = true;
    f.payload = five;
    f.length = sizeof(five);
    ck_assert_int_eq(krun_pmi_take(&pmi, &links[0], &f), 0);
    ck_assert_int_eq(krun_pmi_take(&pmi, &links[1], &f), 0);
    ck_assert_str_eq(sent(0), "");
    ck_assert_str_eq(sent(1), "ABORT 5 of 4|");
    ck_assert_str_eq(sent(2), "");
    teardown();
}
END_TEST

START_TEST(other_frames_are_refused)
{
    setup();
    ck_assert_int_eq(take(0, "a=1"), -EBADMSG);
    ck_assert_int_eq(take(0, ""), 0);
    ck_assert_int_eq(take(0, ""), -EBADMSG);
    ck_assert_int_eq(krun_pmi_take(&pmi, &links[0], &(struct step_frame){.type = STEP_FRAME_ASK}),
                     -EBADMSG);
    teardown();
}
END_TEST

SUITE("krun_pmi", all_nodes_get_the_lines_of_all_when_the_last_is_in,
      a_task_that_has_left_ends_those_that_wait_for_it, an_abort_goes_to_the_other_nodes_once,
      other_frames_are_refused)
