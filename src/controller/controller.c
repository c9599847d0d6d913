/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/controller.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "controller/apiserver/access/audit_log.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/apiserver.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/component_thread.h"
#include "controller/component_threads.h"
#include "controller/health_metrics.h"
#include "controller/history/history.h"
#include "controller/listeners.h"
#include "controller/munge_check.h"
#include "controller/reload.h"
#include "controller/scheduler/config/kube_configuration.h"
#include "controller/scheduler/state/topology_levels.h"
#include "controller/serving_keys.h"
#include "controller/settings.h"
#include "controller/shared_keys.h"
#include "controller/site_audit.h"
#include "controller/site_policy.h"
#include "controller/standby.h"
#include "controller/stopping.h"
#include "controller/store/directory/initialize.h"
#include "controller/store/store.h"
#include "controller/tallies.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/credential_backend.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_server.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"
#include "lib/loop/workers.h"
#include "lib/program/process_metrics.h"
#include "lib/program/readiness.h"

#define WORKERS   4
#define SECOND_US 1000000

struct controller {
    const struct controller_settings *settings;
    struct loop *loop;
    struct standby standby;
    struct metric_registry *metrics;
    struct sigwatch *signals[4];
    struct reload *reload;
    struct topology_levels *topology;
    struct policy policy;
    struct workers *workers;
    struct credential_backend *credential_backend;
    struct serving_keys *serving_keys; /* NULL: no TLS */
    struct shared_keys *shared_keys;   /* NULL: not shared */
    struct auth_server *auth;
    struct munge_check *munge_check; /* NULL: only local clients */
    atomic_bool is_munge_dead;
    struct tallies tallies;
    struct store *store;
    struct history *history; /* or NULL */
    struct audit_log *audit; /* or NULL */
    struct apiserver *api;
    struct component_thread *scheduler;
    struct component_thread *lifecycle;
    struct stopping stopping;
    struct strbuf configz;
    atomic_bool is_scheduling_paused;
    atomic_bool is_failing[2]; /* to renew the lease: scheduler, lifecycle */
    bool is_stopping;
    unsigned n_started;
    struct error failure; /* of the store */
};

typedef int component_start_fn(struct controller *c, struct error *err);
typedef void component_stop_fn(struct controller *c);

static component_start_fn start_loop, start_policy, check_state, start_workers, start_serving_keys,
    start_auth, start_store, start_shared_keys, start_history, start_audit, start_api,
    start_scheduler, start_lifecycle, start_listeners, start_munge_check;
static component_stop_fn stop_munge_check, free_munge_check, stop_workers, stop_store,
    stop_shared_keys, stop_history, stop_api, stop_scheduler, stop_lifecycle, free_history,
    free_audit, free_loop, free_policy, free_reload, free_serving_keys, free_auth, free_api;

/* All components, in the order in which they start. All are stopped, in the
 * opposite order, before any is freed: a component that waits for a callback of
 * another one gets it. A controller for conformance serves the API alone.
 */
static const struct component {
    const char *name;
    enum { ALWAYS, FOR_JOBS } is_needed;
    component_start_fn *start;
    component_stop_fn *stop;
    component_stop_fn *free;
} components[] = {
    {"loop and signals", ALWAYS, start_loop, NULL, free_loop},
    {"policy", ALWAYS, start_policy, NULL, free_policy},
    {"state directory", FOR_JOBS, check_state, NULL, NULL},
    {"workers", ALWAYS, start_workers, stop_workers, free_reload},
    {"TLS", ALWAYS, start_serving_keys, NULL, free_serving_keys},
    {"identity", ALWAYS, start_auth, NULL, free_auth},
    {"store", ALWAYS, start_store, stop_store, NULL},
    {"shared keys", ALWAYS, start_shared_keys, stop_shared_keys, NULL},
    {"history", FOR_JOBS, start_history, stop_history, free_history},
    {"audit log", FOR_JOBS, start_audit, NULL, free_audit},
    {"API", ALWAYS, start_api, stop_api, free_api},
    {"scheduler", FOR_JOBS, start_scheduler, stop_scheduler, NULL},
    {"lifecycle", FOR_JOBS, start_lifecycle, stop_lifecycle, NULL},
    {"listeners", ALWAYS, start_listeners, NULL, NULL},
    {"munge check", FOR_JOBS, start_munge_check, stop_munge_check, free_munge_check},
};

static void
asked_to_stop(int signal_number, void *arg)
{
    struct controller *c = arg;

    if (c->is_stopping)
        return;
    c->is_stopping = true;
    log_info("stopping on %s", strsignal(signal_number));
    readiness_stopping();
    if (c->api != NULL)
        apiserver_close(c->api);
    if (c->store != NULL && c->api != NULL)
        stopping_begin(&c->stopping, c->store, c->api);
    else
        loop_stop(c->loop);
}

static void
asked_to_debug(UNUSED int signal_number, void *arg)
{
    struct controller *c = arg;

    component_threads_debug_scheduler(c->scheduler);
}

/* Ignored during the start: nothing can be reloaded yet. */
static void
asked_to_reload(UNUSED int signal_number, void *arg)
{
    struct controller *c = arg;

    if (c->reload != NULL && !c->is_stopping)
        reload_start(c->reload);
}

static int
start_loop(struct controller *c, struct error *err)
{
    (void)err;
    c->loop = loop_new();
    standby_init(&c->standby, c->settings, c->loop, &c->is_stopping);
    c->metrics = metric_registry_new();
    process_metrics_add(c->metrics, c->settings->state_dir);
    c->signals[0] = sigwatch_new(c->loop, SIGTERM, asked_to_stop, c);
    c->signals[1] = sigwatch_new(c->loop, SIGINT, asked_to_stop, c);
    c->signals[2] = sigwatch_new(c->loop, SIGUSR2, asked_to_debug, c);
    c->signals[3] = sigwatch_new(c->loop, SIGHUP, asked_to_reload, c);
    stopping_init(&c->stopping, c->loop, c->settings->stop_timeout_us);
    return 0;
}

static void
free_loop(struct controller *c)
{
    standby_fini(&c->standby);
    stopping_fini(&c->stopping);
    for (unsigned i = 0; i < ARRAY_SIZE(c->signals); i++)
        sigwatch_free(c->signals[i]);
    loop_drain(c->loop);
    loop_free(c->loop);
    metric_registry_free(c->metrics);
}

static int
start_policy(struct controller *c, struct error *err)
{
    return site_policy_read(c->settings, &c->policy, err);
}

static void
free_policy(struct controller *c)
{
    site_policy_fini(&c->policy);
}

/* Runs before anything is written. A store for conformance is made when it is opened. */
static int
check_state(struct controller *c, struct error *err)
{
    const struct controller_settings *s = c->settings;

    return store_check_present(&(struct store_location){s->state_dir, s->database}, err);
}

static int
start_workers(struct controller *c, struct error *err)
{
    (void)err;
    c->workers = workers_new(WORKERS);
    c->topology = topology_levels_new();
    topology_levels_set(c->topology, c->settings->topology_levels.items,
                        (unsigned)c->settings->topology_levels.count);
    topology_levels_set_wait(c->topology, c->settings->switch_wait_us);
    c->reload = reload_new(&(struct reload_settings){
        .loop = c->loop,
        .workers = c->workers,
        .started_with = c->settings,
        .policy = &c->policy,
        .serving_keys = &c->serving_keys,
        .topology = c->topology,
    });
    return 0;
}

static void
stop_workers(struct controller *c)
{
    reload_stop(c->reload);
    workers_free(c->workers);
    loop_drain(c->loop);
}

static void
free_reload(struct controller *c)
{
    reload_free(c->reload);
    topology_levels_free(c->topology);
}

/* The store is opened later than this is registered, but nobody asks before
 * there is a listener.
 */
static bool
find_verifier(const char *node_name, struct digest *ret_verifier, void *arg)
{
    struct controller *c = arg;

    return apiserver_find_verifier(node_name, ret_verifier, c->store);
}

static int
start_serving_keys(struct controller *c, struct error *err)
{
    return serving_keys_open(c->settings, &c->serving_keys, err);
}

static void
free_serving_keys(struct controller *c)
{
    shared_keys_free(c->shared_keys);
    serving_keys_free(c->serving_keys);
}

static int
start_auth(struct controller *c, struct error *err)
{
    struct token_endpoint access;

    (void)err;
    c->credential_backend = credential_backend_new_munge(c->settings->munge_socket);
    serving_keys_access(c->serving_keys, c->credential_backend, &access);
    c->auth = auth_server_new(&(struct auth_server_settings){
        .loop = c->loop,
        .workers = c->workers,
        .credential_backend = c->credential_backend,
        .cluster = c->settings->cluster,
        .verifier = find_verifier,
        .verifier_arg = c,
        .bearer = access.bearer,
    });
    return 0;
}

static void
free_auth(struct controller *c)
{
    auth_server_free(c->auth);
    credential_backend_free(c->credential_backend);
}

/* Stops the controller: memory and disk could differ, and the next one reads
 * the disk.
 */
static void
store_failed(const struct error *err, void *context)
{
    struct controller *c = context;

    c->failure = *err;
    if (c->failure.code == 0)
        c->failure.code = -EIO;
    log_error("the store failed, stopping: %s", err->text);
    stopping_bound(&c->stopping);
    loop_stop(c->loop);
}

static int
start_store(struct controller *c, struct error *err)
{
    const struct controller_settings *s = c->settings;
    struct engine_waits waits = standby_waits(&c->standby);
    int r;

    tallies_init(&c->tallies);
    r = store_open(
        &(struct store_settings){
            .loop = c->loop,
            .clock = &clock_system,
            .location = {s->state_dir, s->database},
            .waits = &waits,
            .must_exist = !s->is_conformance,
            .reserve_bytes = s->reserve_bytes,
            .log_bytes = (size_t)s->watch_log_bytes,
            .log_age_s = s->watch_log_age_us / SECOND_US,
            .event_age_s = s->event_max_age_us / SECOND_US,
            .event_limit = (size_t)s->event_max_count,
            .metrics = c->metrics,
            .moved = tallies_moved,
            .moved_context = &c->tallies,
            .failed = store_failed,
            .context = c,
        },
        &c->store, err);
    if (r == 0 && s->database != NULL)
        auth_server_begin_lead(c->auth);
    if (!c->is_stopping)
        return r;
    store_close(c->store);
    c->store = NULL;
    return -ECANCELED;
}

static void
stop_store(struct controller *c)
{
    store_close(c->store);
    loop_drain(c->loop);
}

static int
start_shared_keys(struct controller *c, struct error *err)
{
    return shared_keys_open(
        &(struct shared_keys_settings){
            .settings = c->settings,
            .keys = c->serving_keys,
            .store = c->store,
            .loop = c->loop,
            .is_stopping = &c->is_stopping,
        },
        &c->shared_keys, err);
}

static void
stop_shared_keys(struct controller *c)
{
    shared_keys_stop(c->shared_keys);
}

static int
start_history(struct controller *c, struct error *err)
{
    const struct controller_settings *s = c->settings;

    (void)err;
    c->history = history_new(&(struct history_settings){
        .loop = c->loop,
        .clock = &clock_system,
        .store = c->store,
        .directory = s->state_dir,
        .database = s->database,
        .max_age_s = s->history_max_age_us / SECOND_US,
        .max_bytes = s->history_max_bytes,
        .metrics = c->metrics,
    });
    return 0;
}

static void
stop_history(struct controller *c)
{
    history_stop(c->history);
    loop_drain(c->loop);
}

static void
free_history(struct controller *c)
{
    history_free(c->history);
}

/* The content of /configz, with upstream's name for the group. */
static void
write_configz(struct controller *c)
{
    strbuf_init(&c->configz);
    strbuf_add_text(&c->configz, "{\"kubescheduler.config.k8s.io\":");
    kube_configuration_show(c->settings->scheduling, &c->configz);
    strbuf_add_text(&c->configz, "}\n");
}

static int
start_audit(struct controller *c, struct error *err)
{
    return site_audit_open(c->settings, c->metrics, &c->audit, err);
}

static void
free_audit(struct controller *c)
{
    audit_log_free(c->audit);
}

static int
start_api(struct controller *c, struct error *err)
{
    struct token_endpoint access;

    (void)err;
    write_configz(c);
    serving_keys_access(c->serving_keys, c->credential_backend, &access);
    c->api = apiserver_new(&(struct apiserver_settings){
        .loop = c->loop,
        .clock = &clock_system,
        .store = c->store,
        .workers = c->workers,
        .auth = c->auth,
        .profile = c->settings->is_conformance ? &api_profile_conformance : &api_profile_kiln,
        .policy = &c->policy,
        .cluster = c->settings->cluster,
        .counts = c->tallies.users,
        .job_counts = c->tallies.jobs,
        .history = c->history,
        .node_uses = c->tallies.node_uses,
        .node_classes = c->tallies.node_classes,
        .metrics = c->metrics,
        .audit = c->audit,
        .configz = c->configz.text,
        .token_endpoint = access,
        .startup_wait_ms = c->settings->startup_wait_us / 1000,
        .is_munge_dead = &c->is_munge_dead,
        .leases = {&c->is_failing[0], &c->is_failing[1]},
        .is_scheduling_paused = &c->is_scheduling_paused,
        .begins_paused = c->settings->begins_paused,
        .hand_over = standby_hand_over,
        .hand_over_context = &c->standby,
    });
    return 0;
}

static void
stop_api(struct controller *c)
{
    apiserver_stop(c->api);
}

static void
free_api(struct controller *c)
{
    apiserver_free(c->api);
    tallies_fini(&c->tallies);
    strbuf_fini(&c->configz);
}

static int
start_scheduler(struct controller *c, struct error *err)
{
    (void)err;
    c->scheduler = component_threads_start_scheduler(
        c->api, c->settings, c->metrics, &c->is_failing[0], &c->is_scheduling_paused, c->topology);
    return 0;
}

static void
stop_scheduler(struct controller *c)
{
    component_thread_free(c->scheduler);
    c->scheduler = NULL;
    loop_drain(c->loop); /* its last calls to the API */
}

static int
start_lifecycle(struct controller *c, struct error *err)
{
    (void)err;
    c->lifecycle = component_threads_start_lifecycle(c->api, c->store, c->settings, c->metrics,
                                                     &c->is_failing[1]);
    return 0;
}

static void
stop_lifecycle(struct controller *c)
{
    component_thread_free(c->lifecycle);
    loop_drain(c->loop);
}

static int
start_listeners(struct controller *c, struct error *err)
{
    const struct controller_settings *s = c->settings;

    health_metrics_add(c->metrics, s->state_dir, &c->is_munge_dead,
                       serving_keys_tls(c->serving_keys));
    return listeners_open(s, c->api, c->serving_keys, &c->standby, err);
}

static int
start_munge_check(struct controller *c, UNUSED struct error *err)
{
    if (c->settings->listen.count > 0)
        c->munge_check =
            munge_check_new(c->loop, c->workers, c->credential_backend, &c->is_munge_dead);
    return 0;
}

static void
stop_munge_check(struct controller *c)
{
    munge_check_stop(c->munge_check);
}

static void
free_munge_check(struct controller *c)
{
    munge_check_free(c->munge_check);
}

int
controller_new(const struct controller_settings *settings, struct controller **ret_controller,
               struct error *err)
{
    struct controller *c = xnew(struct controller);

    c->settings = settings;
    for (unsigned i = 0; i < ARRAY_SIZE(components); i++) {
        int r = components[i].is_needed == FOR_JOBS && settings->is_conformance
                    ? 0
                    : components[i].start(c, err);

        if (r < 0) {
            controller_free(c);
            return r;
        }
        log_debug("started: %s", components[i].name);
        c->n_started = i + 1;
    }
    *ret_controller = c;
    return 0;
}

void
controller_free(struct controller *c)
{
    if (c == NULL)
        return;
    for (unsigned i = c->n_started; i-- > 0;)
        if (components[i].stop != NULL)
            components[i].stop(c);
    for (unsigned i = c->n_started; i-- > 0;)
        if (components[i].free != NULL)
            components[i].free(c);
    free(c);
}

int
controller_run(struct controller *c, struct error *err)
{
    readiness_ready();
    loop_run(c->loop);
    if (c->failure.code < 0)
        return error_set(err, c->failure.code, "%s", c->failure.text);
    return standby_result(&c->standby, err);
}
