/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/crews.h"

#include <stdlib.h>

#include "controller/crew.h"
#include "controller/lifecycle/lifecycle.h"
#include "controller/scheduler/pacemaker.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/taps.h"
#include "controller/settings.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/random.h"

#define SECOND_US 1000000

/* The scheduler, what tells it of the cluster, and what keeps it going. */
struct scheduling {
    struct scheduler *scheduler;
    struct taps *taps;
    struct pacemaker *pacemaker;
};

static void
on_synced(void *context)
{
    struct scheduling *s = context;

    scheduler_synced(s->scheduler);
    pacemaker_start(s->pacemaker, s->scheduler);
}

static void *
begin_scheduling(struct loop *loop, struct client *client, void *metrics)
{
    struct scheduling *s = xnew(struct scheduling);
    struct error err = {0};
    struct scheduler_settings settings = {
        .client = client,
        .clock = &clock_system,
        .metrics = metrics,
        .ready = pacemaker_ready,
    };

    random_bytes(&settings.seed, sizeof(settings.seed));
    s->pacemaker = pacemaker_new(loop, &clock_system);
    settings.context = s->pacemaker;
    if (scheduler_new(&settings, &s->scheduler, &err) < 0) {
        log_error("the scheduler cannot start: %s", err.text);
        abort(); /* its own profile is at fault: nothing of the site's */
    }
    s->taps = taps_new(s->scheduler, client, on_synced, s);
    return s;
}

static void
end_scheduling(void *room)
{
    struct scheduling *s = room;

    pacemaker_free(s->pacemaker);
    taps_free(s->taps);
    scheduler_free(s->scheduler);
    free(s);
}

struct crew *
crews_start_scheduler(struct apiserver *api, struct metric_registry *metrics)
{
    return crew_new(&(struct crew_settings){
        .name = "scheduler",
        .api = api,
        .room = APISERVER_SCHEDULER,
        .begin = begin_scheduling,
        .end = end_scheduling,
        .context = metrics,
    });
}

static void *
begin_lifecycle(struct loop *loop, struct client *client, void *context)
{
    const struct controller_settings *s = context;

    return lifecycle_new(&(struct lifecycle_settings){
        .loop = loop,
        .client = client,
        .clock = &clock_system,
        .node_grace_ms = s->node_grace_us / 1000,
        .finished_max_age_s = s->finished_max_age_us / SECOND_US,
        .finished_max_count = s->finished_max_count,
    });
}

static void
end_lifecycle(void *room)
{
    lifecycle_free(room);
}

struct crew *
crews_start_lifecycle(struct apiserver *api,
                      const struct controller_settings *settings)
{
    union {
        const struct controller_settings *in;
        void *out;
    } context = {.in = settings};

    return crew_new(&(struct crew_settings){
        .name = "lifecycle",
        .api = api,
        .room = APISERVER_LIFECYCLE,
        .begin = begin_lifecycle,
        .end = end_lifecycle,
        .context = context.out,
    });
}
