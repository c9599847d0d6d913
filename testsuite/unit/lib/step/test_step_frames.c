/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_frames.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static void
receive(struct step_reader *r, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t room, n;
        char *at = step_reader_space(r, &room);

        n = room < length ? room : length;
        memcpy(at, bytes, n);
        step_reader_add(r, n);
        bytes += n;
        length -= n;
    }
}

static void
add_data(struct strbuf *out, uint32_t task, const char *text)
{
    step_frame_add(out, &(struct step_frame){
                            .type = STEP_FRAME_DATA,
                            .stream = STEP_STDERR,
                            .task = task,
                            .payload = text,
                            .length = strlen(text),
                        });
}

START_TEST(a_frame_arrives_in_any_pieces)
{
    CLEANUP_STRBUF struct strbuf sent = STRBUF_INIT;

    add_data(&sent, 7, "seven");
    add_data(&sent, STEP_ALL_TASKS, "");
    step_frame_add_number(&sent, STEP_FRAME_SIGNAL, STEP_STDIN, 3, 4000000001u);
    for (size_t piece = 1; piece <= sent.length; piece++) {
        struct step_reader r = {0};
        unsigned n_frames = 0;
        uint32_t number;

        for (size_t at = 0; at < sent.length; at += piece) {
            struct step_frame f;

            receive(&r, sent.text + at, sent.length - at < piece ? sent.length - at : piece);
            while (step_reader_next(&r, &f) == 1) {
                switch (n_frames++) {
                case 0:
                    ck_assert_uint_eq(f.type, STEP_FRAME_DATA);
                    ck_assert_uint_eq(f.stream, STEP_STDERR);
                    ck_assert_uint_eq(f.task, 7);
                    ck_assert_uint_eq(f.length, 5);
                    ck_assert_mem_eq(f.payload, "seven", 5);
                    break;
                case 1:
                    ck_assert_uint_eq(f.task, STEP_ALL_TASKS);
                    ck_assert_uint_eq(f.length, 0);
                    break;
                default:
                    ck_assert_uint_eq(f.type, STEP_FRAME_SIGNAL);
                    ck_assert_int_eq(step_frame_number(&f, &number), 0);
                    ck_assert_uint_eq(number, 4000000001u);
                }
            }
        }
        ck_assert_uint_eq(n_frames, 3);
        ck_assert_uint_eq(step_reader_left(&r), 0);
        step_reader_fini(&r);
    }
}
END_TEST

START_TEST(the_end_of_a_task_keeps_its_message)
{
    CLEANUP_STRBUF struct strbuf sent = STRBUF_INIT;
    struct step_reader r = {0};
    struct step_frame f;
    struct step_exit end;

    step_frame_add_exit(&sent, 5,
                        &(struct step_exit){
                            .exit_code = 127,
                            .message = "no such file",
                            .message_length = 12,
                        });
    step_frame_add_exit(&sent, 6, &(struct step_exit){.signal = 11, .has_core = true});
    receive(&r, sent.text, sent.length);

    ck_assert_int_eq(step_reader_next(&r, &f), 1);
    ck_assert_int_eq(step_frame_exit(&f, &end), 0);
    ck_assert_uint_eq(f.task, 5);
    ck_assert_uint_eq(end.exit_code, 127);
    ck_assert_uint_eq(end.signal, 0);
    ck_assert_uint_eq(end.message_length, 12);
    ck_assert_mem_eq(end.message, "no such file", 12);
    ck_assert_int_eq(step_reader_next(&r, &f), 1);
    ck_assert_int_eq(step_frame_exit(&f, &end), 0);
    ck_assert_uint_eq(end.signal, 11);
    ck_assert(end.has_core);
    f.length = 8;
    ck_assert_int_eq(step_frame_exit(&f, &end), -EBADMSG);
    step_reader_fini(&r);
}
END_TEST

START_TEST(bytes_that_are_no_frame_are_refused_for_ever)
{
    static const char bad[][STEP_FRAME_HEADER + 1] = {
        "\0\0\0\0\0\0\0\0\0\0\0\0",   /* no type */
        "\0\0\0\0\x7f\0\0\0\0\0\0\0", /* an unknown type */
        "\0\0\0\0\5\3\0\0\0\0\0\0",   /* an unknown stream */
        "\0\0\0\0\5\1\0\1\0\0\0\0",   /* the bytes that are zero */
        "\0\1\0\1\5\1\0\0\0\0\0\0",   /* DATA that is too long */
        "\1\0\0\1\1\0\0\0\0\0\0\0",   /* HELLO that is too long */
        "\xff\xff\xff\xff\1\0\0\0\0\0\0\0",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP_STRBUF struct strbuf good = STRBUF_INIT;
        struct step_reader r = {0};
        struct step_frame f;

        receive(&r, bad[i], STEP_FRAME_HEADER);
        ck_assert_int_eq(step_reader_next(&r, &f), -EBADMSG);
        add_data(&good, 1, "x");
        receive(&r, good.text, good.length);
        ck_assert_int_eq(step_reader_next(&r, &f), -EBADMSG);
        step_reader_fini(&r);
    }
}
END_TEST

START_TEST(a_claimed_length_takes_no_memory)
{
    struct step_reader r = {0};
    struct step_frame f;

    receive(&r, "\1\0\0\0\1\0\0\0\0\0\0\0", STEP_FRAME_HEADER);

    ck_assert_int_eq(step_reader_next(&r, &f), 0);
    ck_assert_uint_lt(r.capacity, 1u << 20);
    step_reader_fini(&r);
}
END_TEST

START_TEST(a_long_stream_needs_the_memory_of_a_few_frames)
{
    CLEANUP_STRBUF struct strbuf sent = STRBUF_INIT;
    struct step_reader r = {0};
    char *payload = xcalloc(1, STEP_FRAME_BYTES);
    size_t n_bytes = 0;

    for (unsigned i = 0; i < 100; i++)
        step_frame_add(&sent, &(struct step_frame){
                                  .type = STEP_FRAME_DATA,
                                  .payload = payload,
                                  .length = STEP_FRAME_BYTES - i,
                              });
    for (size_t at = 0; at < sent.length;) {
        struct step_frame f;
        size_t n = sent.length - at < 50000 ? sent.length - at : 50000;

        receive(&r, sent.text + at, n);
        at += n;
        while (step_reader_next(&r, &f) == 1)
            n_bytes += f.length;
    }

    ck_assert_uint_eq(n_bytes, 100 * STEP_FRAME_BYTES - 99 * 100 / 2);
    ck_assert_uint_lt(r.capacity, 1u << 20);
    step_reader_fini(&r);
    free(payload);
}
END_TEST

START_TEST(a_window_lets_through_what_was_credited_and_no_more)
{
    struct step_send_window out;
    struct step_receive_window in = {0};
    size_t passed = 0;

    step_send_window_init(&out);
    for (unsigned i = 0; i < 10000; i++) {
        uint32_t n = out.credit < 5000 ? out.credit : 5000;
        uint32_t credit;

        ck_assert_uint_gt(n, 0);
        step_send_window_take(&out, n);
        ck_assert_int_eq(step_receive_window_receive(&in, n), 0);
        passed += n;
        credit = step_receive_window_consume(&in, n);
        if (credit > 0)
            ck_assert_int_eq(step_send_window_credit(&out, credit), 0);
    }
    ck_assert_uint_gt(passed, 40u << 20);
}
END_TEST

START_TEST(the_size_of_a_terminal_is_one_number)
{
    CLEANUP_STRBUF struct strbuf sent = STRBUF_INIT;
    static const uint16_t sizes[][2] = {{24, 80}, {0, 0}, {1, 1}, {65535, 65535}, {1, 65535}};
    struct step_reader r = {0};
    struct step_frame f;
    uint16_t rows, columns;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        step_frame_add_number(&sent, STEP_FRAME_SIZE, STEP_STDIN, STEP_ALL_TASKS,
                              STEP_SIZE(sizes[i][0], sizes[i][1]));
    step_frame_add(&sent, &(struct step_frame){
                              .type = STEP_FRAME_SIZE,
                              .payload = "24x80",
                              .length = 5,
                          });
    receive(&r, sent.text, sent.length);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ck_assert_int_eq(step_reader_next(&r, &f), 1);
        ck_assert_int_eq(step_frame_size(&f, &rows, &columns), 0);
        ck_assert_uint_eq(rows, sizes[i][0]);
        ck_assert_uint_eq(columns, sizes[i][1]);
    }
    ck_assert_int_eq(step_reader_next(&r, &f), 1);
    ck_assert_int_eq(step_frame_size(&f, &rows, &columns), -EBADMSG);
    step_reader_fini(&r);
}
END_TEST

START_TEST(a_peer_that_breaks_a_window_is_noticed)
{
    struct step_send_window out;
    struct step_receive_window in = {0};

    step_send_window_init(&out);
    ck_assert_int_eq(step_send_window_credit(&out, 1), -EBADMSG);
    step_send_window_take(&out, 10);
    ck_assert_int_eq(step_send_window_credit(&out, 11), -EBADMSG);
    ck_assert_int_eq(step_send_window_credit(&out, UINT32_MAX), -EBADMSG);
    ck_assert_int_eq(step_send_window_credit(&out, 10), 0);

    ck_assert_int_eq(step_receive_window_receive(&in, STEP_WINDOW_BYTES), 0);
    ck_assert_int_eq(step_receive_window_receive(&in, 1), -EBADMSG);
    ck_assert_uint_eq(step_receive_window_consume(&in, 1), 0);
    /* gone on, but not credited */
    ck_assert_int_eq(step_receive_window_receive(&in, 1), -EBADMSG);
    ck_assert_uint_eq(step_receive_window_consume(&in, STEP_WINDOW_BYTES - 1), STEP_WINDOW_BYTES);
    ck_assert_int_eq(step_receive_window_receive(&in, STEP_WINDOW_BYTES), 0);
}
END_TEST

SUITE("step_frames", a_frame_arrives_in_any_pieces, the_end_of_a_task_keeps_its_message,
      bytes_that_are_no_frame_are_refused_for_ever, a_claimed_length_takes_no_memory,
      a_long_stream_needs_the_memory_of_a_few_frames,
      a_window_lets_through_what_was_credited_and_no_more, the_size_of_a_terminal_is_one_number,
      a_peer_that_breaks_a_window_is_noticed)
