/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/thread.h"

#include <check.h>
#include <signal.h>

#include "testsuite/lib/suite.h"

static void *
read_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

START_TEST(a_thread_blocks_signals_and_its_starter_does_not)
{
    sigset_t mask;
    pthread_t thread;

    ck_assert_int_eq(thread_start(&thread, "mask", read_mask, &mask), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(sigismember(&mask, SIGTERM), 1);

    read_mask(&mask);
    ck_assert_int_eq(sigismember(&mask, SIGTERM), 0);
}
END_TEST

SUITE("thread", a_thread_blocks_signals_and_its_starter_does_not)
