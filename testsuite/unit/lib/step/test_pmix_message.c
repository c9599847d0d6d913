/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/pmix_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"
#include "testsuite/lib/suite.h"

/* The next frame of a text. */
static struct step_frame
next(const struct strbuf *text, size_t *at)
{
    const size_t size = step_frame_bytes(text->text + *at);
    const struct step_frame f = {
        .type = (enum step_frame_type)text->text[*at + 4],
        .payload = text->text + *at + STEP_FRAME_HEADER,
        .length = size - STEP_FRAME_HEADER,
    };

    *at += size;
    return f;
}

START_TEST(a_message_comes_back_as_it_was)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct pmix_message m;
    struct step_frame f;
    size_t at = 0;

    pmix_message_add(&text, &(struct pmix_message){.kind = PMIX_GET,
                                                   .number = 511,
                                                   .id = UINT64_C(0xfedcba9876543210),
                                                   .bytes = "17",
                                                   .length = 2});
    pmix_message_add(&text, &(struct pmix_message){.kind = PMIX_LEFT, .id = 3});
    f = next(&text, &at);
    ck_assert_int_eq(pmix_message_read(&f, &m), 0);
    ck_assert_int_eq(m.kind, PMIX_GET);
    ck_assert_uint_eq(m.number, 511);
    ck_assert(m.id == UINT64_C(0xfedcba9876543210));
    ck_assert(!m.has_more);
    ck_assert_mem_eq(m.bytes, "17", m.length);
    f = next(&text, &at);
    ck_assert_int_eq(pmix_message_read(&f, &m), 0);
    ck_assert_int_eq(m.kind, PMIX_LEFT);
    ck_assert_uint_eq(m.length, 0);
    ck_assert_uint_eq(at, text.length);
}
END_TEST

START_TEST(a_long_message_goes_in_several_frames)
{
    const size_t length = 3 * (size_t)STEP_FRAME_BYTES;
    CLEANUP_FREE char *bytes = xnew_array(char, length);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, back = STRBUF_INIT;
    struct pmix_message m = {.has_more = true};
    size_t at = 0;

    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(i * 7);
    pmix_message_add(&text, &(struct pmix_message){
                                .kind = PMIX_DATA, .id = 9, .bytes = bytes, .length = length});
    while (m.has_more) {
        const struct step_frame f = next(&text, &at);

        ck_assert_uint_le(f.length, STEP_FRAME_BYTES);
        ck_assert_int_eq(pmix_message_read(&f, &m), 0);
        ck_assert(m.id == 9);
        strbuf_add(&back, m.bytes, m.length);
    }
    ck_assert_uint_eq(at, text.length);
    ck_assert_uint_eq(back.length, length);
    ck_assert_mem_eq(back.text, bytes, length);
}
END_TEST

START_TEST(bytes_that_are_no_message_are_refused)
{
    char bytes[16] = {PMIX_GET};
    struct step_frame f = {.type = STEP_FRAME_PMIX, .payload = bytes, .length = sizeof(bytes)};
    struct pmix_message m;

    ck_assert_int_eq(pmix_message_read(&f, &m), 0);
    f.length--;
    ck_assert_int_eq(pmix_message_read(&f, &m), -EBADMSG);
    f.length++;
    f.type = STEP_FRAME_PMI;
    ck_assert_int_eq(pmix_message_read(&f, &m), -EBADMSG);
    f.type = STEP_FRAME_PMIX;
    for (int kind = -1; kind <= PMIX_KINDS; kind++) {
        bytes[0] = (char)kind;
        ck_assert_int_eq(pmix_message_read(&f, &m), kind > 0 && kind < PMIX_KINDS ? 0 : -EBADMSG);
    }
    bytes[0] = PMIX_GET;
    bytes[1] = 2;
    ck_assert_int_eq(pmix_message_read(&f, &m), -EBADMSG);
}
END_TEST

SUITE("pmix_message", a_message_comes_back_as_it_was, a_long_message_goes_in_several_frames,
      bytes_that_are_no_message_are_refused)
