/* SPDX-License-Identifier: Apache-2.0 */
/* A component may run in one controller only, so it starts when it holds its lease and its
 * cache has synced, and stops at once when it loses the lease. Nothing is handed over: the
 * next one begins from the state of the API, which is why bindings and evictions that are
 * under way may simply be dropped.
 */
#include "controller/component_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/start_rights.h"
#include "controller/apiserver/apiserver.h"
#include "controller/component_thread.h"
#include "controller/election.h"
#include "controller/lifecycle/lifecycle.h"
#include "controller/scheduler/config/kube_configuration.h"
#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/http_transport.h"
#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/scheduler_loop.h"
#include "controller/settings.h"
#include "controller/store/store.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/loop/workers.h"

#define SECOND_US 1000000

/* The scheduler with its informers, its loop and its leader election. */
struct scheduler_component {
    const struct controller_settings *settings;
    struct metric_registry *metrics;
    atomic_bool *is_failing;
    const atomic_bool *is_paused;
    struct topology_levels *topology;
    struct loop *loop;
    struct client *client;
    struct start_rights *start_rights; /* of the API server */
    struct scheduler *scheduler;
    struct informers *informers;
    struct scheduler_loop *scheduler_loop;
    struct extender_transport *extender_transport; /* to extenders, if there are any */
    struct election *election;
    struct workers *workers; /* for forecasts of starts */
    bool leads;
};

static void
start_if_ready(struct scheduler_component *s)
{
    if (s->leads && informers_has_synced(s->informers))
        scheduler_loop_start(s->scheduler_loop, s->scheduler);
}

/* Only the leader answers: the scheduler of another controller would decide
 * otherwise.
 */
static int
answer_why(const struct client_question *question, struct arena *arena, struct json **ret_answer,
           void *context)
{
    struct scheduler_component *s = context;

    if (!s->leads || !informers_has_synced(s->informers))
        return -EAGAIN;
    *ret_answer =
        scheduler_explain(s->scheduler, question->object, question->is_hypothetical, arena);
    return 0;
}

/* The election begins when the cache is synced. */
static void on_synced(void *context);

static void
run_aside(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *context)
{
    struct scheduler_component *s = context;

    workers_submit(s->workers, s->loop, work, done, arg);
}

static bool
refuse_start(const struct pod *pod, const struct kind *kind, const char *name, struct strbuf *why,
             void *context)
{
    return start_rights_refuse(context, pod, kind, name, why);
}

static void
open_scheduler(struct scheduler_component *s)
{
    const struct kube_configuration *c = s->settings->scheduling;
    struct kube_numbers numbers = kube_configuration_numbers(c);
    struct error err = {0};
    struct scheduler_settings settings = {
        .client = s->client,
        .clock = &clock_system,
        .metrics = s->metrics,
        .ready = scheduler_loop_ready,
        .context = s->scheduler_loop,
        .is_paused = s->is_paused,
        .initial_backoff_us = numbers.initial_backoff_us,
        .max_backoff_us = numbers.max_backoff_us,
        .assume_expire_us = s->settings->assume_expiry_us,
        .features = &s->settings->features,
        .extenders = kube_configuration_extenders(c),
        .extender_transport = s->extender_transport,
        .run_aside = run_aside,
        .aside_context = s,
        .topology = s->topology,
        .refuse = refuse_start,
        .refuse_context = s->start_rights,
    };

    settings.profiles = kube_configuration_profiles(c, &settings.n_profiles);
    random_bytes(&settings.seed, sizeof(settings.seed));
    if (scheduler_new(&settings, &s->scheduler, &err) < 0) {
        log_error("the scheduler cannot start: %s", err.text);
        abort(); /* reading the configuration has checked this */
    }
    s->informers = informers_new(s->scheduler, s->client, on_synced, s);
}

static void
close_scheduler(struct scheduler_component *s)
{
    scheduler_loop_stop(s->scheduler_loop);
    informers_free(s->informers);
    scheduler_free(s->scheduler);
}

static void
start_scheduling(void *context)
{
    struct scheduler_component *s = context;

    s->leads = true;
    start_if_ready(s);
}

/* Stops at once, whatever is in progress: bindings, evictions, waits for
 * volumes. The new scheduler starts from the state of the API.
 */
static void
stop_scheduling(void *context)
{
    struct scheduler_component *s = context;

    s->leads = false;
    close_scheduler(s);
    open_scheduler(s);
}

static void
on_synced(void *context)
{
    struct scheduler_component *s = context;

    if (s->election != NULL) {
        start_if_ready(s);
        return;
    }
    s->election = election_new(&(struct election_settings){
        .settings = s->settings,
        .loop = s->loop,
        .client = s->client,
        .metrics = s->metrics,
        .is_failing = s->is_failing,
        .gained = start_scheduling,
        .lost = stop_scheduling,
        .context = s,
    });
}

static void
log_warnings(const struct kube_configuration *c)
{
    const char *line = kube_configuration_warnings(c);

    for (; *line != '\0'; line += strcspn(line, "\n") + 1)
        log_warning("the scheduler's configuration: %.*s", (int)strcspn(line, "\n"), line);
}

static void *
begin_scheduling(struct loop *loop, struct client *client, void *context)
{
    struct scheduler_component *s = context;
    const struct kube_configuration *c = s->settings->scheduling;
    const struct extenders *extenders = kube_configuration_extenders(c);

    s->loop = loop;
    s->client = client;
    s->scheduler_loop = scheduler_loop_new(loop, &clock_system);
    s->workers = workers_new(1);
    if (extenders->count > 0)
        s->extender_transport = http_transport_new(loop, extenders);
    log_warnings(c);
    open_scheduler(s);
    client_respond(client, answer_why, s);
    return s;
}

static void
end_scheduling(void *component)
{
    struct scheduler_component *s = component;

    election_free(s->election);
    close_scheduler(s);
    workers_free(s->workers);
    loop_drain(s->loop);
    scheduler_loop_free(s->scheduler_loop);
    extender_transport_free(s->extender_transport);
    free(s);
}

struct component_thread *
component_threads_start_scheduler(struct apiserver *api, const struct controller_settings *settings,
                                  struct metric_registry *metrics, atomic_bool *is_failing,
                                  const atomic_bool *is_paused, struct topology_levels *topology)
{
    struct scheduler_component *s = xnew(struct scheduler_component);

    s->settings = settings;
    s->metrics = metrics;
    s->is_failing = is_failing;
    s->start_rights = apiserver_start_rights(api);
    s->is_paused = is_paused;
    s->topology = topology;
    return component_thread_new(&(struct component_thread_settings){
        .name = "scheduler",
        .api = api,
        .room = APISERVER_SCHEDULER,
        .begin = begin_scheduling,
        .end = end_scheduling,
        .context = s,
    });
}

static void
debug_scheduling(void *component)
{
    const struct scheduler_component *s = component;

    scheduler_debug(s->scheduler);
}

void
component_threads_debug_scheduler(struct component_thread *scheduler)
{
    if (scheduler != NULL)
        component_thread_call(scheduler, debug_scheduling);
}

/* The lifecycle controllers; they run while this controller holds their lease.
 */
struct lifecycle_component {
    const struct controller_settings *settings;
    struct metric_registry *metrics;
    atomic_bool *is_failing;
    struct loop *loop;
    struct client *client;
    struct lifecycle *lifecycle; /* or NULL */
    struct election *election;
    const struct store *store; /* only to ask for damaged objects */
};

static bool
is_damaged(const struct kind *kind, const char *namespace, const char *name, const char *uid,
           void *context)
{
    const struct lifecycle_component *c = context;

    return store_names_damaged(c->store, uid)
           || (kind != NULL && store_is_damaged(c->store, kind, namespace, name));
}

static bool
is_cut_off(void *context)
{
    const struct lifecycle_component *c = context;

    return store_waits(c->store);
}

static void
start_loops(void *context)
{
    struct lifecycle_component *c = context;
    const struct controller_settings *s = c->settings;

    c->lifecycle = lifecycle_new(&(struct lifecycle_settings){
        .loop = c->loop,
        .client = c->client,
        .clock = &clock_system,
        .metrics = c->metrics,
        .node_grace_ms = s->node_grace_us / 1000,
        .fence_program = s->fence_after_us > 0 ? s->fence_program : NULL,
        .fence_after_ms = s->fence_after_us / 1000,
        .fence_limit_ms = s->fence_timeout_us / 1000,
        .mail_program = s->mail_program,
        .cluster = s->cluster,
        .mails_an_hour = s->mails_an_hour,
        .gang_prepare_ms = s->gang_prepare_us / 1000,
        .finished_max_age_s = s->finished_max_age_us / SECOND_US,
        .finished_max_count = s->finished_max_count,
        .holds_never_satisfied = s->hold_never_satisfied,
        .maximum_requeues = s->limits.maximum_requeues,
        .is_damaged = is_damaged,
        .damaged_context = c,
        .is_cut_off = is_cut_off,
        .cut_off_context = c,
    });
}

static void
stop_loops(void *context)
{
    struct lifecycle_component *c = context;

    lifecycle_free(c->lifecycle);
    c->lifecycle = NULL;
}

static int
answer_quota(const struct client_question *question, struct arena *arena, struct json **ret_answer,
             void *context)
{
    struct lifecycle_component *c = context;

    if (c->lifecycle == NULL)
        return -EAGAIN;
    *ret_answer = lifecycle_explain(c->lifecycle, question->object, arena);
    return 0;
}

static void *
begin_lifecycle(struct loop *loop, struct client *client, void *context)
{
    struct lifecycle_component *c = context;

    c->loop = loop;
    c->client = client;
    client_respond(client, answer_quota, c);
    c->election = election_new(&(struct election_settings){
        .settings = c->settings,
        .loop = loop,
        .client = client,
        .metrics = c->metrics,
        .lease_name = "kube-controller-manager",
        .is_failing = c->is_failing,
        .gained = start_loops,
        .lost = stop_loops,
        .context = c,
    });
    return c;
}

static void
end_lifecycle(void *component)
{
    struct lifecycle_component *c = component;

    election_free(c->election);
    lifecycle_free(c->lifecycle);
    free(c);
}

struct component_thread *
component_threads_start_lifecycle(struct apiserver *api, const struct store *store,
                                  const struct controller_settings *settings,
                                  struct metric_registry *metrics, atomic_bool *is_failing)
{
    struct lifecycle_component *c = xnew(struct lifecycle_component);

    c->settings = settings;
    c->store = store;
    c->metrics = metrics;
    c->is_failing = is_failing;
    return component_thread_new(&(struct component_thread_settings){
        .name = "lifecycle",
        .api = api,
        .room = APISERVER_LIFECYCLE,
        .begin = begin_lifecycle,
        .end = end_lifecycle,
        .context = c,
    });
}
