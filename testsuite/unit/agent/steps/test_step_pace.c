/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_pace.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"

#define ROOM (4 * STEP_PACE_UNIT)

struct world {
    struct loop *loop;
    struct timer *end;
    struct fdwatch *watch;
    struct step_pace *pace;
    int fds[2];     /* the last one is the peer's */
    size_t at_once; /* bytes of a receive */
    unsigned n_receives;
    size_t bytes;
    bool is_over;
    int64_t since_us;
};

static void
on_readable(int fd, UNUSED unsigned ready, void *context)
{
    struct world *w = context;
    char text[ROOM];
    ssize_t n = recv(fd, text, w->at_once, MSG_DONTWAIT);

    w->n_receives++;
    w->bytes += n > 0 ? (size_t)n : 0;
    w->is_over = n == 0;
    if (w->is_over) {
        loop_stop(w->loop);
        return;
    }
    step_pace_take(w->pace, n > 0 ? (size_t)n : 0);
}

static void
on_end(void *loop)
{
    loop_stop(loop);
}

static void
begin(struct world *w, size_t at_once)
{
    *w = (struct world){.loop = loop_new(), .at_once = at_once};
    w->since_us = clock_monotonic_us(&clock_system);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->fds), 0);
    w->end = timer_new(w->loop, on_end, w->loop);
    w->watch = fdwatch_new(w->loop, w->fds[0], FDWATCH_READ, on_readable, w);
    w->pace = step_pace_new(w->loop, w->watch);
}

static void
end(struct world *w)
{
    step_pace_free(w->pace);
    fdwatch_free(w->watch);
    timer_free(w->end);
    loop_free(w->loop);
    close(w->fds[0]);
    if (w->fds[1] >= 0)
        close(w->fds[1]);
}

static void
run(struct world *w, int64_t ms)
{
    timer_start(w->end, ms);
    loop_run(w->loop);
}

static void
run_until(struct world *w, unsigned n_receives)
{
    for (int i = 0; i < 3000 && w->n_receives < n_receives && !w->is_over; i++)
        run(w, 10);
    ck_assert_uint_ge(w->n_receives, n_receives);
}

/* Since it began, rounded up. */
static unsigned
seconds(const struct world *w)
{
    return (unsigned)((clock_monotonic_us(&clock_system) - w->since_us) / 1000000) + 1;
}

static void
fill(const struct world *w, size_t bytes)
{
    char text[16 * STEP_PACE_UNIT] = {0};

    ck_assert_int_eq(send(w->fds[1], text, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

/* One byte at a time, so that there is always one more. */
START_TEST(many_small_pieces_are_read_slowly)
{
    struct world w;

    begin(&w, 1);
    fill(&w, 1000);
    run_until(&w, STEP_PACE_BURST);
    run(&w, 100);
    ck_assert_uint_le(w.n_receives, STEP_PACE_BURST + 1 + seconds(&w));
    end(&w);
}
END_TEST

START_TEST(large_pieces_are_read_slowly)
{
    struct world w;

    begin(&w, ROOM);
    fill(&w, (size_t)16 * STEP_PACE_UNIT);
    run_until(&w, STEP_PACE_BURST * STEP_PACE_UNIT / ROOM);
    run(&w, 100);
    ck_assert_uint_le(w.bytes, (STEP_PACE_BURST + 1 + seconds(&w)) * STEP_PACE_UNIT + ROOM);
    end(&w);
}
END_TEST

START_TEST(after_a_while_it_is_read_again)
{
    struct world w;

    begin(&w, 1);
    fill(&w, 1000);
    run_until(&w, STEP_PACE_BURST + 2);
    end(&w);
}
END_TEST

START_TEST(the_end_is_seen_at_once_and_after_all_bytes)
{
    struct world w;

    begin(&w, 1);
    fill(&w, 1000);
    run_until(&w, STEP_PACE_BURST);
    close(w.fds[1]);
    w.fds[1] = -1;
    run(&w, 60000);
    ck_assert(w.is_over);
    ck_assert_uint_eq(w.bytes, 1000);
    end(&w);
}
END_TEST

START_TEST(a_usual_peer_is_never_paused)
{
    struct world w;

    begin(&w, ROOM);
    for (unsigned i = 1; i < STEP_PACE_BURST; i++) {
        fill(&w, 100);
        run_until(&w, i);
        ck_assert_uint_eq(w.bytes, (size_t)i * 100);
    }
    end(&w);
}
END_TEST

SUITE("step_pace", many_small_pieces_are_read_slowly, large_pieces_are_read_slowly,
      after_a_while_it_is_read_again, the_end_is_seen_at_once_and_after_all_bytes,
      a_usual_peer_is_never_paused)
