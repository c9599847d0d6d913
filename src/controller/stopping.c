/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/stopping.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "controller/apiserver/apiserver.h"
#include "controller/store/store.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/program/exit_status.h"

#define FLUSH_MS  50 /* so that the last replies are sent */
#define SECOND_US 1000000

/* --- the longest time -------------------------------------------------------------- */

/* Whatever the other threads wait for: a batch on a slow line, a disk, a database that
 * is away. Nobody was told of anything that is not written.
 */
static void *
end_in_time(void *arg)
{
    int64_t timeout_us = (intptr_t)arg;
    struct timespec left = {.tv_sec = timeout_us / SECOND_US,
                            .tv_nsec = timeout_us % SECOND_US * 1000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
    log_error("stopping: the store has not written all within %lld s, so this controller ends as "
              "one that is killed; nothing that was acknowledged is lost",
              (long long)(timeout_us / SECOND_US));
    _exit(EXIT_STATUS_CONFLICT);
}

void
stopping_bound(struct stopping *s)
{
    pthread_t thread;
    int r;

    if (s->is_bounded)
        return;
    s->is_bounded = true;
    r = thread_start(&thread, "kiln-stop", end_in_time, (void *)(intptr_t)s->timeout_us);
    if (r == 0)
        pthread_detach(thread);
    else
        log_warning("stopping takes as long as the store needs: cannot start a thread: %s",
                    strerror(r));
}

/* --- the steps ----------------------------------------------------------------------- */

/* Another controller may lead already: this one has no more to say than the answers to
 * what it has written.
 */
static void
written(int outcome, void *arg)
{
    struct stopping *s = arg;

    (void)outcome; /* the requests get the outcome themselves */
    s->is_written = true;
    apiserver_end_watches(s->api);
    timer_start(s->timer, FLUSH_MS);
}

/* No connection comes any more. First the requests that have come are carried out, and
 * then the answers to the last ones are sent.
 */
static void
next_step(void *arg)
{
    struct stopping *s = arg;

    if (s->is_written)
        loop_stop(s->loop);
    else
        store_finish(s->store, written, s);
}

void
stopping_init(struct stopping *s, struct loop *loop, int64_t timeout_us)
{
    *s = (struct stopping){.loop = loop, .timeout_us = timeout_us};
    s->timer = timer_new(loop, next_step, s);
}

void
stopping_fini(struct stopping *s)
{
    timer_free(s->timer);
    s->timer = NULL;
}

void
stopping_begin(struct stopping *s, struct store *store, struct apiserver *api)
{
    s->store = store;
    s->api = api;
    stopping_bound(s);
    timer_start(s->timer, FLUSH_MS);
}
