/* SPDX-License-Identifier: Apache-2.0 */
/* The identity is that of the state directory and not of the process: only one controller can
 * have the directory, so one that is started again takes its own lease at once and need not
 * wait until it expires. With a replicated store the database decides who leads, so the word
 * of that controller ends what another one has claimed (the group).
 */
#include "controller/election.h"

#include <stdlib.h>
#include <unistd.h>

#include "controller/scheduler/config/kube_configuration.h"
#include "controller/settings.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/metric.h"
#include "lib/client/leader_election.h"
#include "lib/loop/timer.h"

#define TICK_MS 250

struct election {
    struct leader_election *leadership; /* NULL: no leader is elected */
    struct timer *timer;
    char *lease;
    struct metric *is_leading;
    election_turn_fn *gained;
    election_turn_fn *lost;
    void *context;
};

static void
on_gained(void *arg)
{
    struct election *e = arg;

    log_info("this controller holds the lease '%s'", e->lease);
    metric_set(e->is_leading, 1);
    e->gained(e->context);
}

static void
on_lost(const char *why, void *arg)
{
    struct election *e = arg;

    log_error("this controller has lost the lease '%s', stopping the "
              "components that need it: %s",
              e->lease, why);
    metric_set(e->is_leading, 0);
    e->lost(e->context);
}

static void
on_failed(const char *why, void *arg)
{
    const struct election *e = arg;

    log_warning("the lease '%s' can be neither taken nor renewed, trying "
                "again: %s",
                e->lease, why);
}

static void
tick(void *arg)
{
    struct election *e = arg;

    leader_election_tick(e->leadership);
}

/* Of the controllers of one database only one leads, whose word ends all others'. */
#define GROUP "controllers-of-the-database"

/* The state directory is locked, so no two controllers use it at a time: an
 * earlier holder with this identity was an earlier process of this controller.
 */
static char *
identity_of(const struct controller_settings *settings)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    return xasprintf("%s_%s", host, settings->database != NULL ? GROUP : settings->state_dir);
}

/* As client-go's leaderelection/metrics. */
static struct metric *
make_metric(struct metric_registry *registry, const char *lease_name)
{
    return metric_series(metric_gauge(registry, "leader_election_master_status",
                                      "Gauge of if the reporting system is master of the "
                                      "relevant lease, 0 indicates backup, 1 indicates master. "
                                      "'name' is the string used to identify the lease.",
                                      "name"),
                         lease_name);
}

struct election *
election_new(const struct election_settings *s)
{
    struct kube_numbers n = kube_configuration_numbers(s->settings->scheduling);
    CLEANUP_FREE char *identity = identity_of(s->settings);
    const char *name = s->lease_name != NULL ? s->lease_name : n.lease_name;
    struct election *e = xnew(struct election);

    if (!n.is_electing || !s->settings->leader_elect) {
        s->gained(s->context);
        return e;
    }
    e->lease = xasprintf("%s/%s", n.lease_namespace, name);
    e->is_leading = make_metric(s->metrics, name);
    e->gained = s->gained;
    e->lost = s->lost;
    e->context = s->context;
    e->leadership = leader_election_new(&(struct leader_election_settings){
        .client = s->client,
        .clock = &clock_system,
        .namespace = n.lease_namespace,
        .name = name,
        .identity = identity,
        .group = s->settings->database != NULL ? GROUP : NULL,
        .lease_us = n.lease_us,
        .renew_us = n.renew_us,
        .retry_us = n.retry_us,
        .gained = on_gained,
        .lost = on_lost,
        .failed = on_failed,
        .context = e,
        .is_failing = s->is_failing,
    });
    e->timer = timer_new(s->loop, tick, e);
    timer_repeat(e->timer, TICK_MS);
    leader_election_tick(e->leadership);
    return e;
}

void
election_free(struct election *e)
{
    if (e == NULL)
        return;
    timer_free(e->timer);
    leader_election_free(e->leadership);
    free(e->lease);
    free(e);
}
