/* SPDX-License-Identifier: Apache-2.0 */
/* The agent may die at any moment and must then be found to have changed nothing: jobs run
 * below shepherds, and everything that matters is in files or in the API. So it starts in the
 * order in which its parts need each other, is ready with or without a controller, because
 * running jobs have to be looked after in both cases, and obeys the API only after the
 * controller has answered that it is of this node's cluster: an empty or foreign store would
 * otherwise end every job here.
 */
#include "agent/agent.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_state.h"
#include "agent/api_connection.h"
#include "agent/cgroup/cgroot.h"
#include "agent/hardware/machine.h"
#include "agent/inventory.h"
#include "agent/node/cluster_identity.h"
#include "agent/node/hardware_watch.h"
#include "agent/node/health_check.h"
#include "agent/node/heartbeat.h"
#include "agent/node/metrics_file.h"
#include "agent/node/node_watch.h"
#include "agent/node/registration.h"
#include "agent/node/self_check.h"
#include "agent/node/usage_reporter.h"
#include "agent/node_description.h"
#include "agent/node_resources.h"
#include "agent/output/log_requests.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/leftovers.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pods.h"
#include "agent/settings.h"
#include "agent/steps/step_port.h"
#include "agent/steps/steps.h"
#include "agent/volumes/tmp_dirs.h"
#include "agent/volumes/volumes.h"
#include "lib/api/node/node.h"
#include "lib/api/node/node_hardware.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"
#include "lib/loop/workers.h"
#include "lib/program/readiness.h"

#define WORKERS             8u
#define HARDWARE_WATCH_MS   5000
#define REFUSALS            3
#define CLUSTER_CHECK_BEATS 3 /* heartbeats from one check of the cluster mark to the next */

/* After the controller is back, each agent retries at a random moment within
 * this time, so that ten thousand agents do not retry at once.
 */
#define RETRY_WITHIN_MS 3000

#define PIDS_PER_POD 32768u

/* ---- Answers and failures that change what the agent does ---- */

/* The lifecycle controller taints a node whose hook has failed. */
static void
on_hook_failed(const char *what, void *context)
{
    struct agent *a = context;

    if (node_description_set_hook_failure(&a->description, what))
        registration_update(a->registration);
}

/* The lifecycle controller taints a node whose check has failed. */
static void
on_checked(void *context)
{
    struct agent *a = context;
    const struct object *node = a->node_watch != NULL ? node_watch_node(a->node_watch) : NULL;

    if (self_check_has_failed(a->self_check, &a->description.facts.check_reason,
                              &a->description.facts.check_words)
        && node != NULL)
        event_recorder_record(a->connection.event_recorder, node, RECORD_WARNING, NODE_CHECK_FAILED,
                              a->description.facts.check_words);
    if (a->has_joined)
        registration_update(a->registration);
    else if (!a->has_begun)
        cluster_identity_ask(a->cluster);
    a->has_begun = true;
}

/* The lifecycle controller taints a node that is not healthy. */
static void
on_health(void *context)
{
    struct agent *a = context;
    struct node_facts *facts = &a->description.facts;
    const struct object *node = a->node_watch != NULL ? node_watch_node(a->node_watch) : NULL;

    facts->is_health_known = health_check_get(a->health_check, &facts->health_failure);
    if (facts->health_failure != NULL && node != NULL)
        event_recorder_record(a->connection.event_recorder, node, RECORD_WARNING,
                              NODE_HEALTH_CHECK_FAILED, facts->health_failure);
    if (a->has_joined)
        registration_update(a->registration);
}

static void
open_health_check(struct agent *a)
{
    const struct agent_settings *s = a->settings;

    if (s->health_program == NULL)
        return;
    a->description.facts.has_health_check = true;
    a->health_check = health_check_new(&(struct health_check_settings){
        .loop = a->loop,
        .program = s->health_program,
        .interval_ms = s->health_interval_us / 1000,
        .limit_ms = s->health_timeout_us / 1000,
        .changed = on_health,
        .context = a,
    });
}

/* A connection proves the node when it is opened, so the agent restarts to open
 * all connections anew.
 */
static void
on_reconnect(enum registration_mode mode, void *context)
{
    struct agent *a = context;

    a->next = mode == REGISTRATION_PROVEN ? AGENT_PROVEN : AGENT_UNPROVEN;
    loop_stop(a->loop);
}

static bool
is_lost(int64_t revision, void *context)
{
    const struct agent *a = context;

    return cluster_identity_has_lost(a->cluster, revision);
}

/* The agent obeys the API only after the controller has answered that it is of
 * this node's cluster. A refused proof also starts the registration, which then
 * goes on without proof.
 */
static void
on_cluster_answer(enum cluster_answer answer, void *context)
{
    struct agent *a = context;

    a->refusals = answer == CLUSTER_REFUSED ? a->refusals + 1 : 0;
    if ((answer == CLUSTER_FOREIGN && a->has_joined) || answer == CLUSTER_OLDER
        || (answer == CLUSTER_OURS && a->was_foreign))
        on_reconnect(REGISTRATION_PROVEN, a); /* the restart lists all objects again */
    else if (a->has_joined && a->proves && a->refusals == REFUSALS)
        on_reconnect(REGISTRATION_UNPROVEN, a);
    a->was_foreign = answer == CLUSTER_FOREIGN;
    if (answer != CLUSTER_OURS && (answer != CLUSTER_REFUSED || a->has_joined || !a->proves))
        return;
    if (!a->has_joined) {
        a->has_joined = true;
        registration_start(a->registration);
    } else if (!cluster_identity_is_settling(a->cluster)
               && pods_resolve_forgotten(a->pods, is_lost, a) && a->node_watch != NULL)
        node_watch_check(a->node_watch);
}

static const char *
find_broken(void *context)
{
    struct agent *a = context;
    const char *reason, *words;

    return self_check_has_failed(a->self_check, &reason, &words) ? words : NULL;
}

static void
note_start(const char *failure, void *context)
{
    struct agent *a = context;

    self_check_note_start(a->self_check, failure);
}

static void
open_self_check(struct agent *a)
{
    const struct agent_settings *s = a->settings;

    a->tmp_dirs = tmp_dirs_new(&(struct tmp_dirs_settings){
        .loop = a->loop,
        .workers = a->workers,
        .tmp_dir = s->tmp_dir,
        .state_dir = s->state_dir,
    });
    a->self_check = self_check_new(&(struct self_check_settings){
        .loop = a->loop,
        .workers = a->workers,
        .state_dir = s->state_dir,
        .run_dir = s->run_dir,
        .shepherd = s->shepherd,
        .tmp_dirs = a->tmp_dirs,
        .cgroups = a->resources.cgroups,
        .pool = a->resources.pool,
        .changed = on_checked,
        .context = a,
    });
}

/* All pods together may use only a part of the machine's PIDs, however small
 * pid_max is.
 */
static uint64_t
count_pids(const struct agent_settings *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    uint64_t all;

    if (s->pids_per_pod > 0)
        return (uint64_t)s->pids_per_pod;
    if (file_read("/proc/sys/kernel/pid_max", 64, &text, NULL) < 0)
        return PIDS_PER_POD;
    all = strtoull(text.text, NULL, 10);
    return all / 4 < PIDS_PER_POD ? all / 4 : PIDS_PER_POD;
}

/* The API no longer has a pod. Ask whether the controller is still of this
 * cluster and whether its store has lost revisions.
 */
static void
on_forgotten_pod(void *context)
{
    struct agent *a = context;

    cluster_identity_ask(a->cluster);
}

static void
on_interrupted(void *context)
{
    struct agent *a = context;

    cluster_identity_note_interruption(a->cluster);
}

static void
on_pod_revision(int64_t revision, void *context)
{
    struct agent *a = context;

    cluster_identity_note_revision(a->cluster, revision);
}

static bool
holds_revision(int64_t after, int64_t before, void *context)
{
    const struct agent *a = context;

    return a->pods != NULL && pods_holds_revision(a->pods, after, before);
}

static struct json *
list_pods(struct arena *arena, void *context)
{
    const struct agent *a = context;

    return pods_list_held(a->pods, arena);
}

static struct json *
list_ended(struct arena *arena, void *context)
{
    struct agent *a = context;

    return pods_list_ended(a->pods, arena, is_lost, a);
}

static void
fill_context(struct agent *a)
{
    const struct agent_settings *s = a->settings;
    const char *slash = strrchr(s->shepherd, '/');
    const int folder = slash != NULL ? (int)(slash - s->shepherd) + 1 : 0;

    a->output_program = xasprintf("%.*skiln-output", folder, s->shepherd);
    a->step_program = xasprintf("%.*skiln-step", folder, s->shepherd);
    a->step_socket = xasprintf("%s/steps", s->state_dir);
    a->slurm_commands = xasprintf("%.*sslurm", folder, s->shepherd);
    if (access(a->slurm_commands, X_OK) < 0) {
        free(a->slurm_commands);
        a->slurm_commands = NULL;
    }
    a->krsh = xasprintf("%.*skrsh", folder, s->shepherd);
    if (access(a->krsh, X_OK) < 0) {
        free(a->krsh);
        a->krsh = NULL;
    }

    a->context = (struct agent_context){
        .ask_if_forgotten = on_forgotten_pod,
        .interrupted = on_interrupted,
        .note_revision = on_pod_revision,
        .ask_context = a,
        .find_label = agent_find_label,
        .cluster = s->cluster,
        .slurm_commands = a->slurm_commands,
        .krsh = a->krsh,
        .loop = a->loop,
        .workers = a->workers,
        .client = a->connection.client,
        .clock = &clock_system,
        .node = a->description.name,
        .address = s->address,
        .boot_id = a->inventory.machine->boot_id,
        .topology = a->inventory.topology,
        .is_virtual = a->inventory.topology->is_virtual,
        .event_recorder = a->connection.event_recorder,
        .observe_ms = s->observe_us / 1000,
        .state_dir = s->state_dir,
        .spare_dirs = a->resources.spare_dirs,
        .run_dir = s->run_dir,
        .tmp_dir = s->tmp_dir,
        .tmp_dirs = a->tmp_dirs,
        .broken = find_broken,
        .note_start = note_start,
        .start_context = a,
        .shepherd = s->shepherd,
        .prolog = s->prolog,
        .epilog = s->epilog,
        .task_prolog = s->task_prolog,
        .hook_timeout_ms = s->hook_timeout_us / 1000,
        .shutdown_grace_ms = s->shutdown_grace_us / 1000,
        .hook_failed = on_hook_failed,
        .hook_context = a,
        .fork_server = a->resources.fork_server,
        .cgroups = a->resources.cgroups,
        .partition = s->cpu_partition == CPU_PARTITION_ROOT       ? "root"
                     : s->cpu_partition == CPU_PARTITION_ISOLATED ? "isolated"
                                                                  : NULL,
        .pool = a->resources.pool,
        .pids_per_pod = count_pids(s),
        .default_memory =
            s->default_memory != NULL ? (uint64_t)quantity_text_value(s->default_memory) : 0,
        .rootless = geteuid() != 0,
        .uid = geteuid(),
        .service_uid = a->connection.service_uid,
        .allow_root = s->allow_root_jobs,
        .min_uid = (uid_t)s->min_uid,
    };
}

/* ---- Events ---- */

static void
on_renewed(int64_t sent_us, void *context)
{
    struct agent *a = context;

    pods_note_heard(a->pods, sent_us);
    metrics_file_note_heard(a->metrics);
}

static void
on_controller_back(void *context)
{
    struct agent *a = context;

    cluster_identity_ask_soon(a->cluster);
    pods_retry_soon(a->pods, RETRY_WITHIN_MS);
    if (a->node_watch != NULL)
        node_watch_retry_soon(a->node_watch, RETRY_WITHIN_MS);
    if (a->volumes != NULL)
        volumes_retry_soon(a->volumes, RETRY_WITHIN_MS);
}

static void
on_hangup(UNUSED int signal_number, void *context)
{
    struct agent *a = context;

    hardware_watch_check(a->hardware_watch);
}

static void
on_left(void *context)
{
    struct agent *a = context;

    metrics_file_note_over(a->metrics);
    if (a->node_watch != NULL)
        node_watch_check(a->node_watch);
}

static void
on_ready(void *context)
{
    struct agent *a = context;

    readiness_status("node %s registered", a->description.name);
    heartbeat_start(a->heartbeat);
    agent_watch_node(a);
    if (a->resources.scratch != NULL)
        a->volumes = volumes_new(&(struct volumes_settings){
            .loop = a->loop,
            .workers = a->workers,
            .client = a->connection.client,
            .scratch = a->resources.scratch,
            .node = a->description.name,
            .rootless = a->context.rootless,
            .uid = a->context.uid,
        });
    pods_start(a->pods);
    if (a->usage_reporter != NULL)
        usage_reporter_start(a->usage_reporter);
    a->requests = log_requests_new(&a->context, a->connection.http, a->pods, a->output_program);
}

static void
on_stop(UNUSED int signal_number, void *context)
{
    struct agent *a = context;

    log_info("stopping; running jobs continue without the agent");
    readiness_stopping();
    loop_stop(a->loop);
}

int
agent_new(const struct agent_settings *settings, enum agent_next mode, struct agent **ret_agent,
          struct error *err)
{
    CLEANUP(agent_freep) struct agent *a = xnew(struct agent);
    struct registration_settings registration;
    int r;

    a->settings = settings;
    a->proves = mode == AGENT_PROVEN;
    a->resources.lock_fd = -1;
    a->loop = loop_new();
    a->on_term = sigwatch_new(a->loop, SIGTERM, on_stop, a);
    a->on_int = sigwatch_new(a->loop, SIGINT, on_stop, a);
    a->on_hup = sigwatch_new(a->loop, SIGHUP, on_hangup, a);
    a->workers = workers_new(WORKERS);
    r = node_resources_lock(&a->resources, settings, err);
    if (r == 0)
        r = inventory_take(&a->inventory, settings, err);
    if (r < 0)
        return r;
    node_resources_open(&a->resources, settings, a->inventory.topology);
    node_description_init(&a->description, settings, &a->inventory, &a->resources);
    open_self_check(a);
    open_health_check(a);
    r = api_connection_open(&a->connection,
                            &(struct api_connection_settings){
                                .loop = a->loop,
                                .workers = a->workers,
                                .agent = settings,
                                .node = a->description.name,
                                .secret_path = a->proves ? a->resources.secret_path : NULL,
                            },
                            err);
    if (r < 0)
        return r;
    fill_context(a);
    registration = (struct registration_settings){
        .loop = a->loop,
        .client = a->connection.client,
        .clock = &clock_system,
        .facts = &a->description.facts,
        .secret_path = a->resources.secret_path,
        .mode = a->proves ? REGISTRATION_PROVEN : REGISTRATION_UNPROVEN,
        .reconnect = on_reconnect,
        .ready = on_ready,
        .context = a,
    };
    a->registration = registration_new(&registration);
    a->cluster = cluster_identity_new(&(struct cluster_identity_settings){
        .loop = a->loop,
        .client = a->connection.client,
        .node = a->description.name,
        .state_dir = settings->state_dir,
        .every_ms = settings->heartbeat_us / 1000 * CLUSTER_CHECK_BEATS,
        .holds = holds_revision,
        .list_pods = list_pods,
        .list_ended = list_ended,
        .answered = on_cluster_answer,
        .context = a,
    });
    a->heartbeat = heartbeat_new(&(struct heartbeat_settings){
        .loop = a->loop,
        .client = a->connection.client,
        .clock = &clock_system,
        .node = a->description.name,
        .every_ms = settings->heartbeat_us / 1000,
        .lost = agent_on_doubt,
        .renewed = on_renewed,
        .back = on_controller_back,
        .context = a,
    });
    a->pods = pods_new(&a->context, on_left, a);
    agent_open_steps(a);
    agent_open_port(a);
    if (settings->metrics_file != NULL)
        a->metrics = metrics_file_new(&a->context, a->pods, settings->metrics_file);
    if (settings->usage_interval_us > 0)
        a->usage_reporter = usage_reporter_new(&a->context, a->pods, settings->gpu_library,
                                               settings->usage_interval_us / 1000);
    a->hardware_watch = hardware_watch_new(&(struct hardware_watch_settings){
        .loop = a->loop,
        .workers = a->workers,
        .request = &a->inventory.request,
        .topology = a->inventory.topology,
        .every_ms = HARDWARE_WATCH_MS,
        .changed = agent_on_changed,
        .context = a,
    });
    *ret_agent = a;
    a = NULL;
    return 0;
}

enum agent_next
agent_run(struct agent *a)
{
    leftovers_collect(&a->context, a->resources.cgroup_prefix);
    pods_resume(a->pods);
    if (a->steps != NULL)
        steps_end_unknown(a->steps);
    pod_host_collect_tmp_dirs(&a->context);
    /* The agent is ready with or without a controller, because it looks after
     * the running jobs in both cases.
     */
    readiness_ready();
    readiness_status("node %s looks for its controller", a->description.name);
    if (a->health_check != NULL)
        health_check_start(a->health_check);
    self_check_start(a->self_check); /* the registration follows */
    loop_run(a->loop);
    return a->next;
}

void
agent_free(struct agent *a)
{
    bool is_idle;

    if (a == NULL)
        return;
    /* The components above the workers start no new work. Then the work that is
     * still under way is completed; its callbacks only free memory.
     */
    hardware_watch_free(a->hardware_watch);
    log_requests_free(a->requests);
    usage_reporter_stop(a->usage_reporter);
    metrics_file_stop(a->metrics);
    agent_close_port(a);
    steps_stop(a->steps);
    is_idle = a->pods == NULL || pods_count_running(a->pods) == 0;
    pods_free(a->pods);
    health_check_free(a->health_check);
    self_check_free(a->self_check);
    tmp_dirs_free(a->tmp_dirs, is_idle);
    volumes_free(a->volumes);
    node_watch_free(a->node_watch);
    heartbeat_free(a->heartbeat);
    registration_free(a->registration);
    cluster_identity_free(a->cluster);
    api_connection_close(&a->connection);
    if (a->workers != NULL) {
        workers_free(a->workers);
        loop_drain(a->loop);
    }
    step_port_free(a->step_port);
    steps_free(a->steps);
    free(a->step_program);
    free(a->step_socket);
    usage_reporter_free(a->usage_reporter);
    metrics_file_free(a->metrics);
    api_connection_fini(&a->connection);
    node_resources_fini(&a->resources);
    node_description_fini(&a->description);
    inventory_fini(&a->inventory);
    sigwatch_free(a->on_term);
    sigwatch_free(a->on_int);
    sigwatch_free(a->on_hup);
    loop_free(a->loop);
    free(a->output_program);
    free(a->slurm_commands);
    free(a->krsh);
    free(a);
}
