/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/standby.h"

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/program/readiness.h"

#define WAIT_MS 400

static void
stop_loop(void *arg)
{
    struct standby *standby = arg;

    loop_stop(standby->loop);
}

static bool
wait_once(const struct error *why, void *context)
{
    struct standby *standby = context;
    struct timer *timer = timer_new(standby->loop, stop_loop, standby);

    if (!standby->has_waited)
        log_info("Waiting to lead: %s", why->text);
    standby->has_waited = true;
    readiness_ready();
    readiness_status("waiting to lead: %s", why->text);
    timer_start(timer, WAIT_MS);
    loop_run(standby->loop);
    timer_free(timer);
    return !*standby->is_stopping;
}

struct engine_waits
standby_waits(struct standby *standby)
{
    return (struct engine_waits){wait_once, standby};
}
