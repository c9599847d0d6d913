/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_pmix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/krun/krun_link.h"
#include "cli/krun/krun_pmi.h"
#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/step/pmix_message.h"
#include "lib/step/step_frames.h"
#include "testsuite/lib/suite.h"

#define ALL "\x07" /* a bit for each of the three nodes */

static struct krun_link links[3];
static int others[3];
static struct krun_pmi pmi;

static void
setup(void)
{
    for (unsigned i = 0; i < 3; i++) {
        int ends[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        krun_link_open(&links[i], ends[0], NULL);
        others[i] = ends[1];
    }
    krun_pmi_begin(&pmi, links, 3);
}

static void
teardown(void)
{
    krun_pmi_fini(&pmi);
    for (unsigned i = 0; i < 3; i++) {
        krun_link_close(&links[i]);
        close(others[i]);
    }
}

static int
take(unsigned index, const struct pmix_message *m)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = 0;

    pmix_message_add(&text, m);
    for (size_t at = 0; r == 0 && at < text.length; at += step_frame_bytes(text.text + at))
        r = krun_pmi_take(&pmi, &links[index],
                          &(struct step_frame){
                              .type = STEP_FRAME_PMIX,
                              .payload = text.text + at + STEP_FRAME_HEADER,
                              .length = step_frame_bytes(text.text + at) - STEP_FRAME_HEADER,
                          });
    return r;
}

static int
fence(unsigned index, uint64_t id, const char *nodes, bool is_of_all, const char *given)
{
    int r = take(index, &(struct pmix_message){.kind = PMIX_FENCE,
                                               .number = is_of_all,
                                               .id = id,
                                               .bytes = nodes,
                                               .length = strlen(nodes)});

    return r < 0 ? r
                 : take(index,
                        &(struct pmix_message){
                            .kind = PMIX_DATA, .id = id, .bytes = given, .length = strlen(given)});
}

/* What has arrived at a node, "DATA 7 abc|ABORT 3|", and how long it is. */
static const char *
arrived(unsigned index, size_t *ret_length)
{
    static char text[512];
    struct step_reader reader = {0};
    struct step_frame f;

    text[0] = '\0';
    *ret_length = 0;
    for (;;) {
        size_t room;
        char *at;
        ssize_t n;

        krun_link_flush(&links[index]);
        at = step_reader_space(&reader, &room);
        n = read(others[index], at, room);
        if (n <= 0)
            break;
        step_reader_add(&reader, (size_t)n);
        while (step_reader_next(&reader, &f) == 1) {
            const size_t end = strlen(text);
            struct pmix_message m;
            uint32_t code;

            if (f.type == STEP_FRAME_ABORT) {
                ck_assert_int_eq(step_frame_number(&f, &code), 0);
                snprintf(text + end, sizeof(text) - end, "ABORT %u of %u|", code, f.task);
                continue;
            }
            ck_assert_int_eq(pmix_message_read(&f, &m), 0);
            *ret_length += m.length;
            snprintf(text + end, sizeof(text) - end, "%s %u %d %.*s|",
                     m.kind == PMIX_DATA   ? "DATA"
                     : m.kind == PMIX_GET  ? "GET"
                     : m.kind == PMIX_GOT  ? "GOT"
                     : m.kind == PMIX_NONE ? "NONE"
                                           : "?",
                     m.number, (int)m.id, m.length < 20 ? (int)m.length : 20, m.bytes);
        }
    }
    step_reader_fini(&reader);
    ck_assert(krun_link_is_flushed(&links[index]));
    return text;
}

#define CHECK_ARRIVED(index, expected)                       \
    do {                                                     \
        size_t length;                                       \
        ck_assert_str_eq(arrived(index, &length), expected); \
    } while (0)

START_TEST(all_nodes_get_what_all_have_given)
{
    setup();
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(fence(2, 7, ALL, true, "c"), 0);
        ck_assert_int_eq(fence(0, 7, ALL, true, "a"), 0);
        CHECK_ARRIVED(0, "");
        ck_assert_int_eq(fence(1, 7, ALL, true, ""), 0);
        for (unsigned i = 0; i < 3; i++)
            CHECK_ARRIVED(i, "DATA 0 7 ca|");
    }
    teardown();
}
END_TEST

START_TEST(fences_of_other_tasks_do_not_meet)
{
    setup();
    ck_assert_int_eq(fence(0, 1, "\x03", false, "a"), 0);
    ck_assert_int_eq(fence(0, 2, "\x05", false, "x"), 0);
    ck_assert_int_eq(fence(2, 2, "\x05", false, "y"), 0);
    CHECK_ARRIVED(0, "DATA 0 2 xy|");
    CHECK_ARRIVED(1, "");
    CHECK_ARRIVED(2, "DATA 0 2 xy|");
    ck_assert_int_eq(fence(2, 1, "\x03", false, ""), -EBADMSG); /* it has no part in it */
    ck_assert_int_eq(fence(1, 1, "\x03", false, "b"), 0);
    CHECK_ARRIVED(0, "DATA 0 1 ab|");
    CHECK_ARRIVED(1, "DATA 0 1 ab|");
    CHECK_ARRIVED(2, "");
    teardown();
}
END_TEST

START_TEST(a_question_goes_to_one_node_and_its_answer_back)
{
    setup();
    ck_assert_int_eq(take(0,
                          &(struct pmix_message){
                              .kind = PMIX_GET, .number = 2, .id = 5, .bytes = "6", .length = 1}),
                     0);
    CHECK_ARRIVED(2, "GET 0 5 6|");
    ck_assert_int_eq(take(2,
                          &(struct pmix_message){
                              .kind = PMIX_GOT, .number = 0, .id = 5, .bytes = "key", .length = 3}),
                     0);
    CHECK_ARRIVED(0, "GOT 2 5 key|");
    ck_assert_int_eq(take(2, &(struct pmix_message){.kind = PMIX_GOT, .number = 0, .id = 5}),
                     -EBADMSG); /* nobody asks any more */
    CHECK_ARRIVED(1, "");
    ck_assert_int_eq(take(0, &(struct pmix_message){.kind = PMIX_GET, .number = 3}), -EBADMSG);
    teardown();
}
END_TEST

START_TEST(a_question_to_a_node_that_has_ended_is_answered)
{
    const struct pmix_message to_2 = {.kind = PMIX_GET, .number = 2, .id = 5};

    setup();
    ck_assert_int_eq(take(0, &to_2), 0);
    ck_assert_int_eq(take(1, &(struct pmix_message){.kind = PMIX_GET, .number = 0, .id = 6}), 0);
    links[2].has_ended = true;
    krun_pmi_end_link(&pmi, &links[2]);
    CHECK_ARRIVED(0, "GET 1 6 |NONE 2 5 |");
    CHECK_ARRIVED(1, "");
    ck_assert_int_eq(take(1, &to_2), 0);
    CHECK_ARRIVED(1, "NONE 2 5 |");
    teardown();
}
END_TEST

START_TEST(a_task_that_has_ended_ends_a_fence_of_all)
{
    setup();
    krun_pmi_end_task(&pmi, &links[2], 5, &(struct step_exit){.exit_code = 3});
    ck_assert_int_eq(fence(0, 1, "\x07", false, ""), 0);
    CHECK_ARRIVED(0, "");
    ck_assert_int_eq(fence(0, 7, ALL, true, ""), 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK_ARRIVED(i, "ABORT 3 of 5|");
    teardown();

    setup();
    ck_assert_int_eq(fence(0, 7, ALL, true, ""), 0);
    ck_assert_int_eq(fence(1, 7, ALL, true, ""), 0);
    krun_pmi_end_task(&pmi, &links[1], 2, &(struct step_exit){.exit_code = 4});
    CHECK_ARRIVED(0, "");
    teardown();
}
END_TEST

/* The links share what all have given; a slow one takes it piece by piece. */
START_TEST(much_data_arrives_whole_and_too_much_is_refused)
{
    const size_t length = (20u << 20) + 1;
    CLEANUP_FREE char *bytes = xnew_array(char, length);
    struct pmix_message data = {.kind = PMIX_DATA, .id = 7, .bytes = bytes, .length = length};
    size_t n;

    memset(bytes, 'x', length);
    setup();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(
            take(i,
                 &(struct pmix_message){
                     .kind = PMIX_FENCE, .number = 1, .id = 7, .bytes = ALL, .length = 1}),
            0);
        ck_assert_int_eq(take(i, &data), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_le(links[i].out.length, 4u * STEP_FRAME_BYTES);
        (void)arrived(i, &n);
        ck_assert_uint_eq(n, 3 * length);
    }
    ck_assert_int_eq(fence(0, 8, ALL, true, ""), 0);
    ck_assert_int_eq(fence(1, 9, ALL, true, ""), 0);
    ck_assert_int_eq(
        take(1, &(struct pmix_message){.kind = PMIX_FENCE, .id = 8, .bytes = ALL, .length = 1}), 0);
    for (int i = 0; i < 3; i++) {
        data = (struct pmix_message){
            .kind = PMIX_DATA, .has_more = true, .id = 8, .bytes = bytes, .length = length};
        ck_assert_int_eq(take(1, &data), 0);
    }
    ck_assert_int_eq(take(1, &data), -EBADMSG);
    teardown();
}
END_TEST

SUITE("krun_pmix", all_nodes_get_what_all_have_given, fences_of_other_tasks_do_not_meet,
      a_question_goes_to_one_node_and_its_answer_back,
      a_question_to_a_node_that_has_ended_is_answered, a_task_that_has_ended_ends_a_fence_of_all,
      much_data_arrives_whole_and_too_much_is_refused)
