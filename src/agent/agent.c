/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/api_connection.h"
#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/hardware/machine.h"
#include "agent/inventory.h"
#include "agent/node/cluster_identity.h"
#include "agent/node/hardware_watch.h"
#include "agent/node/heartbeat.h"
#include "agent/node/metrics_file.h"
#include "agent/node/node_status.h"
#include "agent/node/node_watch.h"
#include "agent/node/registration.h"
#include "agent/node/self_check.h"
#include "agent/node/usage_reporter.h"
#include "agent/output/requests.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/leftovers.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pods.h"
#include "agent/pods/spare_dirs.h"
#include "agent/settings.h"
#include "agent/shepherd/nursery.h"
#include "agent/volumes/scratch.h"
#include "agent/volumes/tmp_dirs.h"
#include "agent/volumes/volumes.h"
#include "lib/api/node/node.h"
#include "lib/api/node/node_hardware.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/client/event_recorder.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"
#include "lib/loop/workers.h"
#include "lib/program/readiness.h"

#define WORKERS           8u
#define HARDWARE_WATCH_MS 5000
#define REFUSALS          3
#define CLUSTER_CHECK_BEATS \
    3 /* heartbeats from one look at the cluster's mark on */

/* Ten thousand agents hear within two seconds that the controller is back. */
#define RETRY_WITHIN_MS 3000

#define PIDS_PER_POD 32768u

struct agent {
    const struct agent_settings *settings;
    struct loop *loop;
    struct workers *workers;
    int lock_fd;

    struct inventory inventory;
    struct node_facts facts;
    char *hook_failure;
    char *missing; /* of the hardware; NULL: nothing */
    char *node_name;
    char *output_program; /* stands beside the shepherd */
    struct cgroot *cgroups;
    struct cgpool *pool;
    char cgroup_prefix[UUID_SIZE]; /* of its cgroups' names */
    struct scratch *scratch;       /* NULL: none is offered */
    struct volumes *volumes;
    struct nursery *nursery;
    struct spare_dirs *spare_dirs;

    struct api_connection connection;
    char *secret_path;

    struct agent_context context;
    struct registration *registration;
    struct heartbeat *heartbeat;
    struct node_watch *node_watch;
    struct usage_reporter *usage_reporter; /* NULL: nothing is reported */
    struct metrics_file *metrics;          /* NULL: none is written */
    struct pods *pods;
    struct requests *requests;
    struct hardware_watch *hardware_watch;
    struct tmp_dirs *tmp_dirs;
    struct self_check *self_check;
    bool has_begun; /* to register */
    struct sigwatch *on_term, *on_int, *on_hup;
    struct cluster_identity *cluster;
    bool has_joined; /* the controller is of our cluster */
    bool was_foreign;
    unsigned refusals; /* of the proof, in a row */
    bool proves;       /* which node it is, where it has the secret */
    enum agent_next next;
};

/* ---- The steps of a start, in their order; each undone by agent_free ---- */

/* One agent a state directory: two would start every pod twice. */
static int
open_state(struct agent *a, struct error *err)
{
    const char *dir = a->settings->state_dir;
    CLEANUP_FREE char *pods = xasprintf("%s/pods", dir);
    CLEANUP_FREE char *run = xasprintf("%s/pods", a->settings->run_dir);
    CLEANUP_FREE char *lock = xasprintf("%s/lock", dir);
    int r = dir_make(pods, 0711, err);

    if (r == 0)
        r = dir_make(run, 0700, err);
    if (r < 0)
        return r;
    a->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock_fd < 0)
        return error_set(err, -errno, "'%s': %s", lock, strerror(errno));
    if (flock(a->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err,
                         -EBUSY,
                         "another kiln-agent runs with the state directory "
                         "'%s'",
                         dir);
    a->secret_path = xasprintf("%s/node-secret", dir);
    a->spare_dirs = spare_dirs_new(dir);
    return 0;
}

/* Root's agent wants cgroups; without any it goes on, and says so. */
static void
open_cgroups(struct agent *a)
{
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;
    struct cgroot_site site = {.base = a->settings->cgroup_base};
    const struct cgroot_ability *can;
    struct error err = {0};

    if (geteuid() != 0)
        return;
    if (a->settings->cpu_partition != CPU_PARTITION_NONE
        && !a->inventory.topology->is_virtual) {
        cpuset_format(&a->inventory.topology->pus, &cpus);
        site.partition_cpus = cpus.text;
    }
    if (cgroot_open(&site, &a->cgroups, &err) < 0) {
        log_warning("no cgroups: %s; jobs are bound by affinity alone, and "
                    "their memory is not limited",
                    err.text);
        return;
    }
    can = cgroot_ability(a->cgroups);
    if (can->lacking != NULL)
        log_warning("%s", can->lacking);
    if (can->partitions_lacking != NULL)
        log_warning("no CPU partitions: %s; are CPUs reserved for the rest of "
                    "the system?",
                    can->partitions_lacking);
    random_uuid(a->cgroup_prefix);
    a->cgroup_prefix[8] = '-';
    a->cgroup_prefix[9] = '\0';
    a->pool = cgpool_new(a->cgroups, a->cgroup_prefix);
}

/* Shepherds can be started without. */
static void
open_nursery(struct agent *a)
{
    struct error err = {0};

    if (nursery_open(a->settings->shepherd, &a->nursery, &err) < 0)
        log_warning("%s; jobs cannot run before that is mended", err.text);
}

/* Names in the API have no capitals; host names may. */
static char *
name_after_host(const char *hostname)
{
    char *name = xstrdup(hostname);

    for (char *c = name; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return name;
}

/* A disk that is missing keeps nobody from the jobs that run. */
static void
open_scratch(struct agent *a)
{
    const struct agent_settings *s = a->settings;
    int64_t bytes = s->scratch_capacity != NULL
                        ? quantity_text_value(s->scratch_capacity)
                        : 0;
    struct error err = {0};

    if (s->scratch_dir != NULL
        && scratch_open(s->scratch_dir, bytes, &a->scratch, &err) < 0)
        log_warning("no scratch is offered: %s", err.text);
}

static void
gather_facts(struct agent *a)
{
    const struct agent_settings *s = a->settings;

    a->node_name = s->node_name != NULL
                       ? xstrdup(s->node_name)
                       : name_after_host(a->inventory.machine->hostname);
    a->facts.name = a->node_name;
    a->facts.machine = a->inventory.machine;
    a->facts.topology = a->inventory.topology;
    a->facts.reserved_memory_bytes = a->inventory.wish.reserved_memory_bytes;
    a->facts.address = s->address;
    a->facts.labels = s->labels.items;
    a->facts.n_labels = s->labels.count;
    a->facts.max_pods = s->max_pods;
    a->facts.has_hooks = s->prolog != NULL || s->epilog != NULL;
    a->facts.rootless = geteuid() != 0;
    a->facts.uid = geteuid();
    a->facts.can_limit_memory =
        a->cgroups != NULL && cgroot_ability(a->cgroups)->memory;
    a->facts.can_limit_hugepages =
        a->cgroups != NULL && cgroot_ability(a->cgroups)->hugepages;
    a->facts.can_guard_devices =
        a->cgroups != NULL && cgroot_ability(a->cgroups)->devices;
    a->facts.devices_lacking =
        a->cgroups != NULL ? cgroot_ability(a->cgroups)->devices_lacking : NULL;
    a->facts.can_bind_cpus =
        a->cgroups != NULL && cgroot_ability(a->cgroups)->cpuset;
    if (a->scratch == NULL)
        return;
    a->facts.scratch_dir = scratch_dir(a->scratch);
    a->facts.scratch_bytes = scratch_capacity(a->scratch);
    a->facts.has_scratch_quota = scratch_has_quota(a->scratch);
}

/* The lifecycle taints a node that says so. The first one stands: it is what
 * the administrator has to look at.
 */
static void
on_hook_failed(const char *what, void *context)
{
    struct agent *a = context;

    if (a->hook_failure != NULL)
        return;
    a->hook_failure = xstrdup(what);
    a->facts.hook_failure = a->hook_failure;
    registration_update(a->registration);
}

/* The lifecycle taints a node that says so. */
static void
on_checked(void *context)
{
    struct agent *a = context;
    const struct object *node =
        a->node_watch != NULL ? node_watch_node(a->node_watch) : NULL;

    if (self_check_has_failed(a->self_check,
                              &a->facts.check_reason,
                              &a->facts.check_words)
        && node != NULL)
        event_recorder_record(a->connection.event_recorder,
                              node,
                              RECORD_WARNING,
                              NODE_CHECK_FAILED,
                              a->facts.check_words);
    if (a->has_joined)
        registration_update(a->registration);
    else if (!a->has_begun)
        cluster_identity_ask(a->cluster);
    a->has_begun = true;
}

/* A connection proves its node when it is opened, so all are opened anew. */
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

/* Nothing is done of what the API says before it is known to be ours. */
static void
on_cluster_answer(enum cluster_answer answer, void *context)
{
    struct agent *a = context;

    a->refusals = answer == CLUSTER_REFUSED ? a->refusals + 1 : 0;
    if ((answer == CLUSTER_FOREIGN && a->has_joined) || answer == CLUSTER_OLDER
        || (answer == CLUSTER_OURS && a->was_foreign))
        on_reconnect(REGISTRATION_PROVEN,
                     a); /* and everything is listed anew */
    else if (a->has_joined && a->proves && a->refusals == REFUSALS)
        on_reconnect(REGISTRATION_UNPROVEN, a);
    a->was_foreign = answer == CLUSTER_FOREIGN;
    if (answer != CLUSTER_OURS
        && (answer != CLUSTER_REFUSED || a->has_joined || !a->proves))
        return;
    if (!a->has_joined) {
        a->has_joined = true;
        registration_start(a->registration);
    } else if (pods_resolve_forgotten(a->pods, is_lost, a)
               && a->node_watch != NULL)
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
        .cgroups = a->cgroups,
        .pool = a->pool,
        .changed = on_checked,
        .context = a,
    });
}

/* All pods together leave the machine some, however few it has. */
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

/* The API has forgotten a pod: is it still our cluster, and all of it? */
static void
on_forgotten_pod(void *context)
{
    struct agent *a = context;

    cluster_identity_ask(a->cluster);
}

static void
fill_context(struct agent *a)
{
    const struct agent_settings *s = a->settings;
    const char *slash = strrchr(s->shepherd, '/');

    a->output_program = xasprintf("%.*skiln-output",
                                  slash ? (int)(slash - s->shepherd) + 1 : 0,
                                  s->shepherd);

    a->context = (struct agent_context){
        .ask_if_forgotten = on_forgotten_pod,
        .ask_context = a,
        .loop = a->loop,
        .workers = a->workers,
        .client = a->connection.client,
        .clock = &clock_system,
        .node = a->node_name,
        .address = s->address,
        .boot_id = a->inventory.machine->boot_id,
        .topology = a->inventory.topology,
        .is_virtual = a->inventory.topology->is_virtual,
        .event_recorder = a->connection.event_recorder,
        .observe_ms = s->observe_us / 1000,
        .state_dir = s->state_dir,
        .spare_dirs = a->spare_dirs,
        .run_dir = s->run_dir,
        .tmp_dir = s->tmp_dir,
        .tmp_dirs = a->tmp_dirs,
        .broken = find_broken,
        .note_start = note_start,
        .start_context = a,
        .shepherd = s->shepherd,
        .prolog = s->prolog,
        .epilog = s->epilog,
        .hook_timeout_ms = s->hook_timeout_us / 1000,
        .hook_failed = on_hook_failed,
        .hook_context = a,
        .nursery = a->nursery,
        .cgroups = a->cgroups,
        .partition = s->cpu_partition == CPU_PARTITION_ROOT       ? "root"
                     : s->cpu_partition == CPU_PARTITION_ISOLATED ? "isolated"
                                                                  : NULL,
        .pool = a->pool,
        .pids_per_pod = count_pids(s),
        .default_memory = s->default_memory != NULL
                              ? (uint64_t)quantity_text_value(s->default_memory)
                              : 0,
        .rootless = geteuid() != 0,
        .uid = geteuid(),
        .allow_root = s->allow_root_jobs,
        .min_uid = (uid_t)s->min_uid,
    };
}

/* ---- Events ---- */

static void
on_doubt(void *context)
{
    struct agent *a = context;

    registration_update(a->registration);
}

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

    pods_retry_soon(a->pods, RETRY_WITHIN_MS);
    if (a->node_watch != NULL)
        node_watch_retry_soon(a->node_watch, RETRY_WITHIN_MS);
    if (a->volumes != NULL)
        volumes_hurry(a->volumes, RETRY_WITHIN_MS);
}

/* The machine is another one now, or has less of itself. */
static void
on_changed(struct topology *is TAKES,
           const char *words,
           bool is_less,
           void *context)
{
    struct agent *a = context;
    const struct object *node =
        a->node_watch != NULL ? node_watch_node(a->node_watch) : NULL;

    log_warning("this machine has changed: %s", words);
    inventory_change(&a->inventory, is);
    a->facts.topology = is;
    a->context.topology = is;
    if (node != NULL)
        event_recorder_record(a->connection.event_recorder,
                              node,
                              is_less ? RECORD_WARNING : RECORD_NORMAL,
                              "TopologyChanged",
                              words);
    if (a->cgroups != NULL)
        cgroot_refill(a->cgroups);
    registration_update(a->registration);
    pods_note_topology(a->pods);
}

static void
on_hangup(UNUSED int signal_number, void *context)
{
    struct agent *a = context;

    hardware_watch_check(a->hardware_watch);
}

static bool
confirm_gone(const char *pod_uid, void *context)
{
    struct agent *a = context;

    return pods_confirm_gone(a->pods, pod_uid);
}

static void
end_orphans(const char *uids, void *context)
{
    struct agent *a = context;

    pods_end_orphans(a->pods, uids);
}

static void
visit_retained(void (*visit)(const struct object *pod, void *arg),
               void *arg,
               void *context)
{
    struct agent *a = context;

    pods_visit_retained(a->pods, visit, arg);
}

/* The API knows which hardware is expected of this node. */
static void
on_seen(const struct object *node, void *context)
{
    struct agent *a = context;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    bool is_missing = node_hardware_is_missing(node_of(node), &words);

    if (is_missing)
        strbuf_printf(&words,
                      "; mend it, or accept what there is: kctl annotate node "
                      "%s " ANNOTATION_EXPECTED_HARDWARE "-",
                      a->node_name);
    if (is_missing == (a->missing != NULL)
        && (!is_missing || strcmp(words.text, a->missing) == 0))
        return;
    free(a->missing);
    a->missing = is_missing ? xstrdup(words.text) : NULL;
    a->facts.missing = a->missing;
    if (is_missing) {
        log_warning("this node has less than it had: %s", a->missing);
        event_recorder_record(a->connection.event_recorder,
                              node,
                              RECORD_WARNING,
                              NODE_HARDWARE_MISSING,
                              a->missing);
    } else
        log_info("this node has all that is expected of it again");
    registration_update(a->registration);
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

    readiness_status("node %s registered", a->node_name);
    heartbeat_start(a->heartbeat);
    a->node_watch = node_watch_new(&(struct node_watch_settings){
        .seen = on_seen,
        .loop = a->loop,
        .client = a->connection.client,
        .node = a->node_name,
        .outdated = on_doubt,
        .confirm_gone = confirm_gone,
        .end_orphans = end_orphans,
        .visit_retained = visit_retained,
        .context = a,
    });
    if (a->scratch != NULL)
        a->volumes = volumes_new(&(struct volumes_settings){
            .loop = a->loop,
            .workers = a->workers,
            .client = a->connection.client,
            .scratch = a->scratch,
            .node = a->node_name,
            .rootless = a->context.rootless,
            .uid = a->context.uid,
        });
    pods_start(a->pods);
    if (a->usage_reporter != NULL)
        usage_reporter_start(a->usage_reporter);
    a->requests = requests_new(&a->context,
                               a->connection.http,
                               a->pods,
                               a->output_program);
}

static void
on_stop(UNUSED int signal_number, void *context)
{
    struct agent *a = context;

    log_info("stopping; running jobs go on without the agent");
    readiness_stopping();
    loop_stop(a->loop);
}

int
agent_new(const struct agent_settings *settings,
          enum agent_next mode,
          struct agent **ret_agent,
          struct error *err)
{
    CLEANUP(agent_freep) struct agent *a = xnew(struct agent);
    struct registration_settings registration;
    int r;

    a->settings = settings;
    a->proves = mode == AGENT_PROVEN;
    a->lock_fd = -1;
    a->loop = loop_new();
    a->on_term = sigwatch_new(a->loop, SIGTERM, on_stop, a);
    a->on_int = sigwatch_new(a->loop, SIGINT, on_stop, a);
    a->on_hup = sigwatch_new(a->loop, SIGHUP, on_hangup, a);
    a->workers = workers_new(WORKERS);
    r = open_state(a, err);
    if (r == 0)
        r = inventory_take(&a->inventory, settings, err);
    if (r < 0)
        return r;
    open_cgroups(a);
    open_nursery(a);
    open_scratch(a);
    gather_facts(a);
    open_self_check(a);
    r = api_connection_open(
        &a->connection,
        &(struct api_connection_settings){
            .loop = a->loop,
            .workers = a->workers,
            .agent = settings,
            .node = a->node_name,
            .secret_path = a->proves ? a->secret_path : NULL,
        },
        err);
    if (r < 0)
        return r;
    fill_context(a);
    registration = (struct registration_settings){
        .loop = a->loop,
        .client = a->connection.client,
        .clock = &clock_system,
        .facts = &a->facts,
        .secret_path = a->secret_path,
        .mode = a->proves ? REGISTRATION_PROVEN : REGISTRATION_UNPROVEN,
        .reconnect = on_reconnect,
        .ready = on_ready,
        .context = a,
    };
    a->registration = registration_new(&registration);
    a->cluster = cluster_identity_new(&(struct cluster_identity_settings){
        .loop = a->loop,
        .client = a->connection.client,
        .node = a->node_name,
        .state_dir = settings->state_dir,
        .every_ms = settings->heartbeat_us / 1000 * CLUSTER_CHECK_BEATS,
        .answered = on_cluster_answer,
        .context = a,
    });
    a->heartbeat = heartbeat_new(&(struct heartbeat_settings){
        .loop = a->loop,
        .client = a->connection.client,
        .clock = &clock_system,
        .node = a->node_name,
        .every_ms = settings->heartbeat_us / 1000,
        .lost = on_doubt,
        .renewed = on_renewed,
        .back = on_controller_back,
        .context = a,
    });
    a->pods = pods_new(&a->context, on_left, a);
    if (settings->metrics_file != NULL)
        a->metrics =
            metrics_file_new(&a->context, a->pods, settings->metrics_file);
    if (settings->usage_interval_us > 0)
        a->usage_reporter =
            usage_reporter_new(&a->context,
                               a->pods,
                               settings->usage_interval_us / 1000);
    a->hardware_watch = hardware_watch_new(&(struct hardware_watch_settings){
        .loop = a->loop,
        .workers = a->workers,
        .wish = &a->inventory.wish,
        .topology = a->inventory.topology,
        .every_ms = HARDWARE_WATCH_MS,
        .changed = on_changed,
        .context = a,
    });
    *ret_agent = a;
    a = NULL;
    return 0;
}

enum agent_next
agent_run(struct agent *a)
{
    leftovers_collect(&a->context, a->cgroup_prefix);
    pods_resume(a->pods);
    pod_host_collect_tmp_dirs(&a->context);
    /* Ready, with or without a controller: jobs are looked after. */
    readiness_ready();
    readiness_status("node %s looks for its controller", a->node_name);
    self_check_start(a->self_check); /* and then registers */
    loop_run(a->loop);
    return a->next;
}

void
agent_free(struct agent *a)
{
    bool is_idle;

    if (a == NULL)
        return;
    /* Nobody asks for anything more; then what is under way comes back, to
     * those who only let go of it.
     */
    hardware_watch_free(a->hardware_watch);
    requests_free(a->requests);
    usage_reporter_free(a->usage_reporter);
    metrics_file_stop(a->metrics);
    is_idle = a->pods == NULL || pods_count_running(a->pods) == 0;
    pods_free(a->pods);
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
    metrics_file_free(a->metrics);
    scratch_close(a->scratch);
    api_connection_fini(&a->connection);
    nursery_close(a->nursery);
    spare_dirs_free(a->spare_dirs);
    cgpool_free(a->pool);
    cgroot_close(a->cgroups);
    inventory_fini(&a->inventory);
    sigwatch_free(a->on_term);
    sigwatch_free(a->on_int);
    sigwatch_free(a->on_hup);
    loop_free(a->loop);
    if (a->lock_fd >= 0)
        close(a->lock_fd);
    free(a->hook_failure);
    free(a->missing);
    free(a->node_name);
    free(a->output_program);
    free(a->secret_path);
    free(a);
}
