/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/dispatch.h"

#include "controller/apiserver/request/frame.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

static unsigned flushed;
static struct loop *loop;

static void
flush(struct dispatch_entry *entry)
{
    (void)entry;
    flushed++;
    loop_stop(loop);
}

START_TEST(a_planned_channel_is_flushed_once_and_a_forgotten_one_not)
{
    struct dispatch_entry a = {0}, b = {0};

    loop = loop_new();
    struct dispatch *d = dispatch_new(loop, flush);
    dispatch_plan(d, &a);
    dispatch_plan(d, &a);
    dispatch_plan(d, &b);
    dispatch_forget(&b);
    ck_assert_uint_eq(flushed, 0);
    loop_run(loop);
    ck_assert_uint_eq(flushed, 1);
    ck_assert(!a.is_planned && !b.is_planned);

    /* After a round that took no time, and after a long one. */
    dispatch_plan(d, &b);
    loop_run(loop);
    ck_assert_uint_eq(flushed, 2);
    dispatch_plan(d, &a);
    dispatch_forget(&a);
    dispatch_free(d);
    loop_drain(loop);
    loop_free(loop);
}
END_TEST

static struct strbuf said = STRBUF_INIT;

static void
note_turn(void *arg)
{
    (void)arg;
    strbuf_add_text(&said, "turn ");
    if (flushed == 2)
        loop_stop(loop);
}

/* Takes longer than a slice of a round may, and requests another turn. */
static void
flush_slowly(struct dispatch_entry *entry)
{
    int64_t until_us = clock_monotonic_us(&clock_system) + 10000;

    (void)entry;
    while (clock_monotonic_us(&clock_system) < until_us)
        continue;
    strbuf_add_text(&said, "flush ");
    loop_post(loop, note_turn, NULL);
    flushed++;
}

START_TEST(a_long_round_lets_others_have_their_turn)
{
    struct dispatch_entry a = {0}, b = {0};

    loop = loop_new();
    struct dispatch *d = dispatch_new(loop, flush_slowly);
    dispatch_plan(d, &a);
    dispatch_plan(d, &b);
    loop_run(loop);

    ck_assert_str_eq(said.text, "flush turn flush turn ");
    dispatch_free(d);
    loop_drain(loop);
    loop_free(loop);
    strbuf_fini(&said);
}
END_TEST

static struct frame *
frame_of(const char *text)
{
    struct frame *frame = frame_new();

    frame_add(frame, text);
    return frame;
}

START_TEST(frames_are_joined_once_for_all)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct frame *frames[] = {frame_of("one\n"), frame_of("two\n")};
    struct frame *same[] = {frames[0], frames[1]};
    struct frame *other[] = {frames[1], frames[0]};

    loop = loop_new();
    struct dispatch *d = dispatch_new(loop, flush);
    struct frame *joined = dispatch_join(d, frames, 2);
    frame_copy(joined, &text);
    ck_assert_str_eq(text.text, "one\ntwo\n");
    ck_assert_ptr_eq(dispatch_join(d, same, 2), joined);

    strbuf_truncate(&text, 0);
    frame_copy(dispatch_join(d, other, 2), &text);
    ck_assert_str_eq(text.text, "two\none\n");

    dispatch_free(d);
    frame_unref(frames[0]);
    frame_unref(frames[1]);
    loop_free(loop);
}
END_TEST

SUITE("dispatch", a_planned_channel_is_flushed_once_and_a_forgotten_one_not,
      a_long_round_lets_others_have_their_turn, frames_are_joined_once_for_all)
