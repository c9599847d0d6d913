/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "testsuite/lib/suite.h"

struct load {
    struct loop *loop;
    pthread_t home;
    atomic_uint worked;
    unsigned done;
    unsigned wanted;
    atomic_bool was_at_home;
    bool was_done_abroad;
};

static void
work(void *arg)
{
    struct load *l = arg;

    if (pthread_equal(pthread_self(), l->home))
        l->was_at_home = true;
    l->worked++;
}

static void
done(void *arg)
{
    struct load *l = arg;

    if (!pthread_equal(pthread_self(), l->home))
        l->was_done_abroad = true;
    if (++l->done == l->wanted)
        loop_stop(l->loop);
}

START_TEST(work_runs_elsewhere_and_done_runs_on_the_loop)
{
    struct load l = {
        .loop = loop_new(),
        .home = pthread_self(),
        .wanted = 1000,
    };
    struct workers *w = workers_new(3);

    for (unsigned i = 0; i < l.wanted; i++)
        workers_submit(w, l.loop, work, done, &l);
    loop_run(l.loop);

    ck_assert_uint_eq(l.worked, 1000);
    ck_assert(!l.was_at_home);
    ck_assert(!l.was_done_abroad);
    workers_free(w);
    loop_free(l.loop);
}
END_TEST

static void
work_slowly(void *arg)
{
    usleep(5000);
    work(arg);
}

START_TEST(freeing_the_workers_finishes_what_was_submitted)
{
    struct load l = {.loop = loop_new(), .home = pthread_self()};
    struct workers *w = workers_new(2);

    for (unsigned i = 0; i < 10; i++)
        workers_submit(w, l.loop, work_slowly, done, &l);
    workers_free(w);
    ck_assert_uint_eq(l.worked, 10);

    loop_drain(l.loop);

    ck_assert_uint_eq(l.done, 10);
    loop_free(l.loop);
}
END_TEST

START_TEST(one_worker_works_in_the_order_of_submission)
{
    struct load l = {.loop = loop_new(), .home = pthread_self()};
    struct workers *w = workers_new(1);

    workers_submit(w, NULL, work_slowly, NULL, &l);
    workers_submit(w, NULL, work, NULL, &l);
    workers_free(w);

    ck_assert_uint_eq(l.worked, 2);
    ck_assert_uint_eq(l.done, 0);
    loop_free(l.loop);
}
END_TEST

SUITE("workers", work_runs_elsewhere_and_done_runs_on_the_loop,
      freeing_the_workers_finishes_what_was_submitted, one_worker_works_in_the_order_of_submission)
