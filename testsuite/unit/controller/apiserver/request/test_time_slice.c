/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/time_slice.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

static struct strbuf said = STRBUF_INIT;
static struct loop *loop;

struct piece {
    struct time_slice time_slice;
    const char *name;
    unsigned left;
    int64_t takes_us;
};

static bool
work(struct time_slice *time_slice)
{
    struct piece *p = container_of(time_slice, struct piece, time_slice);
    int64_t until_us = clock_monotonic_us(&clock_system) + p->takes_us;

    while (clock_monotonic_us(&clock_system) < until_us)
        continue;
    strbuf_add_text(&said, p->name);
    if (--p->left == 0 && p->name[0] == 'b')
        loop_stop(loop);
    return p->left > 0;
}

START_TEST(long_slices_take_turns_and_short_ones_finish_in_theirs)
{
    struct piece a = {.name = "a", .left = 2, .takes_us = 10000};
    struct piece b = {.name = "b", .left = 3, .takes_us = 10000};
    struct piece c = {.name = "c", .left = 4};

    loop = loop_new();
    struct time_slices *s = time_slices_new(loop);
    time_slices_add(s, &a.time_slice, work);
    time_slices_add(s, &b.time_slice, work);
    time_slices_add(s, &c.time_slice, work);
    ck_assert_uint_eq(said.length, 0);
    loop_run(loop);

    ck_assert_str_eq(said.text, "abccccabb");
    time_slices_free(s);
    loop_free(loop);
    strbuf_fini(&said);
}
END_TEST

START_TEST(the_end_does_what_is_left_and_what_comes_later_at_once)
{
    struct piece a = {.name = "a", .left = 2};
    struct piece c = {.name = "c", .left = 2};

    loop = loop_new();
    struct time_slices *s = time_slices_new(loop);
    time_slices_add(s, &a.time_slice, work);
    time_slices_finish(s);
    ck_assert_str_eq(said.text, "aa");
    time_slices_add(s, &c.time_slice, work);

    ck_assert_str_eq(said.text, "aacc");
    time_slices_free(s);
    loop_free(loop);
    strbuf_fini(&said);
}
END_TEST

SUITE("time_slice", long_slices_take_turns_and_short_ones_finish_in_theirs,
      the_end_does_what_is_left_and_what_comes_later_at_once)
