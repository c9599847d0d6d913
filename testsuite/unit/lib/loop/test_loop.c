/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/loop.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"

struct diary {
    struct loop *loop;
    char text[16];
    size_t length;
};

static void
write_a(void *arg)
{
    struct diary *d = arg;

    d->text[d->length++] = 'a';
}

static void
write_b(void *arg)
{
    struct diary *d = arg;

    d->text[d->length++] = 'b';
    loop_defer(d->loop, write_a, d);
}

START_TEST(posts_run_in_order_and_a_stop_lets_the_earlier_ones_run)
{
    struct loop *loop = loop_new();
    struct diary d = {.loop = loop};

    loop_post(loop, write_a, &d);
    loop_post(loop, write_b, &d);
    loop_stop(loop);
    loop_post(loop, write_b, &d);
    loop_run(loop);
    ck_assert_str_eq(d.text, "ab");

    loop_drain(loop);

    ck_assert_str_eq(d.text, "abbaa");
    loop_free(loop);
}
END_TEST

START_TEST(deferred_work_runs_after_the_callback_under_way)
{
    struct loop *loop = loop_new();
    struct diary d = {.loop = loop};

    loop_defer(loop, write_b, &d);
    loop_defer(loop, write_a, &d);
    loop_drain(loop);

    ck_assert_str_eq(d.text, "baa");
    loop_free(loop);
}
END_TEST

/* Takes longer than a turn may spend on posted functions. */
static void
write_a_slowly(void *arg)
{
    int64_t until_us = clock_monotonic_us(&clock_system) + 10000;

    while (clock_monotonic_us(&clock_system) < until_us)
        continue;
    write_a(arg);
}

static void
write_t(void *arg)
{
    struct diary *d = arg;

    d->text[d->length++] = 't';
}

START_TEST(timers_have_their_turn_among_many_posts)
{
    struct loop *loop = loop_new();
    struct diary d = {.loop = loop};
    struct timer *timer = timer_new(loop, write_t, &d);

    timer_start(timer, 0);
    loop_post(loop, write_a_slowly, &d);
    loop_post(loop, write_a_slowly, &d);
    loop_stop(loop);
    loop_run(loop);

    ck_assert_str_eq(d.text, "ata");
    timer_free(timer);
    loop_free(loop);
}
END_TEST

START_TEST(a_loop_that_is_freed_forgets_its_posts)
{
    struct loop *loop = loop_new();
    struct diary d = {.loop = loop};

    loop_post(loop, write_a, &d);
    loop_defer(loop, write_a, &d);
    loop_free(loop);

    ck_assert_uint_eq(d.length, 0);
}
END_TEST

enum { THREADS = 4, POSTS = 20000 };

struct crowd {
    struct loop *loop;
    unsigned seen[THREADS];
    bool is_disordered;
    unsigned total;
};

struct parcel {
    struct crowd *crowd;
    unsigned thread;
    unsigned number;
};

static struct parcel parcels[THREADS][POSTS];

static void
receive(void *arg)
{
    struct parcel *p = arg;
    struct crowd *c = p->crowd;

    if (c->seen[p->thread]++ != p->number)
        c->is_disordered = true;
    if (++c->total == THREADS * POSTS)
        loop_stop(c->loop);
}

static void *
post_all(void *arg)
{
    struct parcel *mine = arg;

    for (unsigned i = 0; i < POSTS; i++)
        loop_post(mine->crowd->loop, receive, &mine[i]);
    return NULL;
}

START_TEST(posts_of_many_threads_all_arrive_each_threads_in_order)
{
    struct crowd c = {.loop = loop_new()};
    pthread_t threads[THREADS];

    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < POSTS; i++)
            parcels[t][i] = (struct parcel){&c, t, i};
    for (unsigned t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, post_all, parcels[t]);
    loop_run(c.loop);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);

    ck_assert_uint_eq(c.total, THREADS * POSTS);
    ck_assert(!c.is_disordered);
    loop_free(c.loop);
}
END_TEST

struct player {
    struct loop *loop;
    struct player *other;
    unsigned rounds;
};

static void
play(void *arg)
{
    struct player *p = arg;

    if (p->rounds-- > 0) {
        loop_post(p->other->loop, play, p->other);
        return;
    }
    loop_stop(p->loop);
    loop_stop(p->other->loop);
}

static void *
run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

START_TEST(two_loops_in_two_threads_talk_by_posts)
{
    struct player a = {.loop = loop_new(), .rounds = 1000};
    struct player b = {.loop = loop_new(), .rounds = 1000, .other = &a};
    pthread_t thread;

    a.other = &b;
    pthread_create(&thread, NULL, run_loop, b.loop);
    loop_post(a.loop, play, &a);
    loop_run(a.loop);
    pthread_join(thread, NULL);

    ck_assert_uint_eq(b.rounds, 0);
    loop_free(a.loop);
    loop_free(b.loop);
}
END_TEST

struct ticks {
    struct loop *loop;
    struct timer *timer;
    unsigned count;
    unsigned enough;
};

static void
tick(void *arg)
{
    struct ticks *t = arg;

    if (++t->count == t->enough) {
        timer_free(t->timer);
        t->timer = NULL;
        loop_stop(t->loop);
    }
}

START_TEST(a_one_shot_timer_fires_once_and_not_early)
{
    struct ticks t = {.loop = loop_new(), .enough = 1};
    int64_t start = loop_now_ms();

    t.timer = timer_new(t.loop, tick, &t);
    ck_assert(!timer_is_running(t.timer));
    timer_start(t.timer, 30);
    ck_assert(timer_is_running(t.timer));
    loop_run(t.loop);

    ck_assert_int_ge(loop_now_ms() - start, 25);
    ck_assert_uint_eq(t.count, 1);
    loop_free(t.loop);
}
END_TEST

START_TEST(a_repeating_timer_goes_on_until_freed_in_its_own_callback)
{
    struct ticks t = {.loop = loop_new(), .enough = 5};

    t.timer = timer_new(t.loop, tick, &t);
    timer_repeat(t.timer, 2);
    loop_run(t.loop);

    ck_assert_uint_eq(t.count, 5);
    loop_free(t.loop);
}
END_TEST

START_TEST(a_stopped_timer_does_not_fire)
{
    struct ticks stopped = {.loop = loop_new(), .enough = 9};
    struct ticks other = {.loop = stopped.loop, .enough = 1};

    stopped.timer = timer_new(stopped.loop, tick, &stopped);
    other.timer = timer_new(other.loop, tick, &other);
    timer_start(stopped.timer, 1);
    timer_start(other.timer, 20);
    timer_stop(stopped.timer);
    loop_run(other.loop);

    ck_assert_uint_eq(stopped.count, 0);
    timer_free(stopped.timer);
    loop_free(other.loop);
}
END_TEST

struct peer {
    struct loop *loop;
    struct fdwatch *watch;
    unsigned ends, looks;
};

static void
note_end(UNUSED int fd, unsigned ready, void *arg)
{
    struct peer *p = arg;

    ck_assert_uint_eq(ready, FDWATCH_END);
    p->ends++;
    fdwatch_want(p->watch, 0);
}

static void
stop_soon(void *arg)
{
    struct peer *p = arg;

    p->looks++;
    if (p->ends > 0 || p->looks == 500)
        loop_stop(p->loop);
}

/* A peer that leaves something unread resets its connection: that is an error, too. */
static void
see_end(bool leaves_unread)
{
    struct peer p = {.loop = loop_new()};
    struct timer *timer = timer_new(p.loop, stop_soon, &p);
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    p.watch = fdwatch_new(p.loop, ends[0], FDWATCH_END, note_end, &p);
    ck_assert_int_eq(write(ends[1], "x", 1), 1); /* is not read, and no end */
    if (leaves_unread)
        ck_assert_int_eq(write(ends[0], "x", 1), 1);
    timer_repeat(timer, 10);
    ck_assert_uint_eq(p.ends, 0);
    close(ends[1]);
    loop_run(p.loop);

    ck_assert_uint_eq(p.ends, 1);
    fdwatch_free(p.watch);
    timer_free(timer);
    close(ends[0]);
    loop_free(p.loop);
}

START_TEST(the_end_of_a_peer_is_seen_once_also_if_it_resets_the_connection)
{
    see_end(false);
    see_end(true);
}
END_TEST

SUITE("loop", posts_run_in_order_and_a_stop_lets_the_earlier_ones_run,
      deferred_work_runs_after_the_callback_under_way, timers_have_their_turn_among_many_posts,
      a_loop_that_is_freed_forgets_its_posts,
      posts_of_many_threads_all_arrive_each_threads_in_order,
      two_loops_in_two_threads_talk_by_posts, a_one_shot_timer_fires_once_and_not_early,
      a_repeating_timer_goes_on_until_freed_in_its_own_callback, a_stopped_timer_does_not_fire,
      the_end_of_a_peer_is_seen_once_also_if_it_resets_the_connection)
