/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/stopping.h"

#include <unistd.h>

#include "controller/store/store.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/program/exit_status.h"

#define FLUSH_MS  50 /* so that the last replies are sent */
#define SECOND_US 1000000

/* Some of what has come is not written, and nobody was told that it is. */
static void NORETURN
give_up(const struct stopping *s)
{
    log_error("stopping: the store has not written all within %lld s, so this controller ends as "
              "one that is killed; nothing that was acknowledged is lost",
              (long long)(s->timeout_us / SECOND_US));
    _exit(EXIT_STATUS_CONFLICT);
}

static void
stop_now(void *arg)
{
    struct stopping *s = arg;

    if (!s->is_written)
        give_up(s);
    loop_stop(s->loop);
}

/* The accepted requests are on the disk and answered: leave time to send the
 * answers.
 */
static void
written(int outcome, void *arg)
{
    struct stopping *s = arg;

    (void)outcome; /* the requests get the outcome themselves */
    s->is_written = true;
    timer_start(s->timer, FLUSH_MS);
}

void
stopping_init(struct stopping *s, struct loop *loop, int64_t timeout_us)
{
    *s = (struct stopping){.loop = loop, .timeout_us = timeout_us};
    s->timer = timer_new(loop, stop_now, s);
}

void
stopping_fini(struct stopping *s)
{
    timer_free(s->timer);
    s->timer = NULL;
}

void
stopping_begin(struct stopping *s, struct store *store)
{
    timer_start(s->timer, s->timeout_us / 1000);
    store_finish(store, written, s);
}
