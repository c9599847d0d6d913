/* SPDX-License-Identifier: Apache-2.0 */
/* run_loop.h - runs a loop and a fake API until a condition holds */
#pragma once

#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"

static inline void
run_loop_stop(void *loop)
{
    loop_stop(loop);
}

/* Runs the loop for some milliseconds, and answers all calls. */
static inline void
run_loop_step(struct fake_client *api)
{
    struct loop *loop = fake_client_client(api)->loop;
    struct timer *end = timer_new(loop, run_loop_stop, loop);

    timer_start(end, 2);
    loop_run(loop);
    timer_free(end);
    fake_client_run(api);
}

/* Runs until the condition holds; Check's own time limit ends a wait that
 * fails.
 */
#define run_loop_until(api, condition) \
    do                                 \
        run_loop_step(api);            \
    while (!(condition))
