/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/job_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/connect/client_settings.h"
#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/log_pods.h"
#include "cli/krun/krun_link.h"
#include "cli/krun/krun_nodes.h"
#include "cli/krun/krun_place.h"
#include "cli/krun/krun_signal.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/step/byte_text.h"

/* ---- The pod ---- */

static const char *
annotation(const struct json *object, const char *name)
{
    return json_get_text(json_get_path(object, "metadata.annotations"), name);
}

static bool
runs(const struct json *pod)
{
    const char *phase = json_path_text(pod, "status.phase");

    return phase != NULL && strcmp(phase, "Running") == 0
           && json_path_text(pod, "metadata.deletionTimestamp") == NULL;
}

static int
check_owner(const struct json *object, const char *what, struct error *err)
{
    const char *uid = annotation(object, ANNOTATION_UID),
               *user = annotation(object, ANNOTATION_USER);

    if (uid == NULL || strtoll(uid, NULL, 10) == (long long)getuid())
        return 0;
    return error_set(
        err, -EPERM, "%s is a job of %s; only the job's user starts programs in it%s%s%s", what,
        user != NULL ? user : "another user", getuid() == 0 && user != NULL ? " ('runuser -u " : "",
        getuid() == 0 && user != NULL ? user : "",
        getuid() == 0 && user != NULL ? " -- ...')" : "");
}

/* The newest that runs; its first one, if the program runs on each node. */
static int
find_pod(struct kctl *kctl, const struct target_object *job, struct arena *arena,
         const struct json **ret_pod, struct error *err)
{
    const char *words = kctl_job_words(job, arena), *state;
    struct json *object = NULL, *pods = NULL;
    int r = kctl_get(kctl, job, arena, &object, err);

    if (r == 0)
        r = check_owner(object, words, err);
    if (r == 0)
        r = job_pods(kctl, job, arena, &pods, err);
    if (r < 0)
        return r;
    log_pods_leave_out_pauses(pods);
    pods = log_pods_of_first(pods, arena);
    *ret_pod = NULL;
    for (uint32_t i = json_count(pods); i-- > 0;) {
        if (!runs(json_at(pods, i)))
            continue;
        if (*ret_pod != NULL)
            return error_set(err, -EINVAL, "several tasks of %s run; name one (JOB_TASK)", words);
        *ret_pod = json_at(pods, i);
    }
    if (*ret_pod != NULL)
        return 0;
    state = json_path_text(object, "status.state");
    if (state == NULL || strcmp(state, "Pending") == 0)
        return error_set(err, -EAGAIN,
                         "%s waits; programs are started in it when it runs ('kctl why' "
                         "says why it waits)",
                         words);
    return error_set(err, -EAGAIN, "%s does not run: it is %s%s", words, state,
                     strcmp(state, "Running") == 0 ? ", and starts or ends now" : "");
}

static int
find_task(struct kctl *kctl, const struct target_object *target, struct arena *arena,
          const struct json **ret_pod, struct error *err)
{
    const char *words = target->task != NULL ? target->task : target->name;
    struct json *pod = NULL;
    int r = kctl_get(kctl, target, arena, &pod, err);

    if (r == 0)
        r = check_owner(pod, words, err);
    if (r == 0 && !runs(pod))
        r = error_set(err, -EAGAIN, "%s does not run: it is %s", words,
                      json_path_text(pod, "status.phase"));
    *ret_pod = pod;
    return r;
}

/* ---- Its node ---- */

/* The boot's id is that of all containers of a machine, too. */
static bool
is_this_machine(const struct json *node)
{
    CLEANUP_STRBUF struct strbuf own = STRBUF_INIT;
    const char *boot = json_path_text(node, "status.nodeInfo.bootID");
    const struct json *addresses = json_get_path(node, "status.addresses");
    struct utsname machine;

    if (boot == NULL || file_read("/proc/sys/kernel/random/boot_id", 64, &own, NULL) < 0
        || strncmp(own.text, boot, strlen(boot)) != 0 || uname(&machine) < 0)
        return false;
    for (uint32_t i = 0; i < json_count(addresses); i++) {
        const char *type = json_get_text(json_at(addresses, i), "type");
        const char *address = json_get_text(json_at(addresses, i), "address");

        if (type != NULL && address != NULL && strcmp(type, "Hostname") == 0)
            return strcmp(address, machine.nodename) == 0;
    }
    return false;
}

static int
find_place(struct kctl *kctl, const char *name, struct arena *arena, struct krun_place *p,
           struct error *err)
{
    const struct target_object target = {.kind = &node_kind, .name = name};
    const char *socket, *owner;
    struct client_settings settings = {0};
    struct json *node = NULL;
    int r = kctl_get(kctl, &target, arena, &node, err);

    *p = (struct krun_place){.node = name};
    if (r < 0)
        return r;
    socket = json_path_text(node, "status.daemonEndpoints.kilnStepSocket");
    if (socket != NULL && is_this_machine(node) && access(socket, W_OK) == 0) {
        p->socket = socket;
        return 0;
    }
    p->port = (unsigned)json_get_int(json_get_path(node, "status.daemonEndpoints.kubeletEndpoint"),
                                     "Port", 0);
    if (p->port == 0)
        return error_set(
            err, -EHOSTUNREACH,
            "the agent of node '%s' has no port for steps ('listen' in its agent.yaml), "
            "so programs are started in its jobs only on that node",
            name);
    owner = json_get_text(json_get_path(node, "metadata.labels"), LABEL_ROOTLESS);
    p->agent_uid = owner != NULL ? (uid_t)strtoul(owner, NULL, 10) : 0;
    r = client_settings_read(&settings, err);
    p->cluster = arena_strdup(arena, settings.cluster != NULL ? settings.cluster : "kiln");
    if (settings.munge_socket != NULL)
        p->munge_socket = arena_strdup(arena, settings.munge_socket);
    client_settings_fini(&settings);
    return r;
}

/* ---- Variables ---- */

/* Of one node, or of one process of the job; a name that ends in an underscore is the
 * beginning of names.
 */
static const char *const of_node[] = {
    "KILN_CPUS",      "KILN_CPUS_ON_NODE",  "KILN_DEVICES",       "KILN_HOSTFILE",
    "KILN_LOCALID",   "KILN_MEMORY_NODES",  "KILN_NODEID",        "KILN_NODE_NAME",
    "KILN_POD_NAME",  "KILN_POD_UID",       "KILN_PROCID",        "KILN_STEP_SOCKET",
    "KILN_VOLUME_",   "SLURM_CPUS_ON_NODE", "SLURM_GPUS_ON_NODE", "SLURM_GTIDS",
    "SLURM_JOB_GPUS", "SLURM_LOCALID",      "SLURM_NODEID",       "SLURM_PROCID",
    "SLURM_TASK_PID", "SLURM_TOPOLOGY_",
};

static bool
is_of_node(const char *entry, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(of_node); i++) {
        const size_t n = strlen(of_node[i]);

        if (strncmp(entry, of_node[i], n) == 0
            && (length == n || (of_node[i][n - 1] == '_' && length > n)))
            return true;
    }
    return false;
}

/* This process may be in another job. */
static void
leave_job(struct arena *arena)
{
    if (getenv("KILN_JOB_ID") == NULL)
        return;
    for (char **at = environ; *at != NULL;) {
        const size_t length = strcspn(*at, "=");
        char *name = arena_strndup(arena, *at, length);

        if ((strncmp(name, "KILN_", 5) != 0 && strncmp(name, "SLURM_", 6) != 0)
            || strcmp(name, "KILN_SERVER") == 0 || strcmp(name, "KILN_CONFIG") == 0)
            at++;
        else
            unsetenv(name); /* the next one is here now */
    }
}

static void
set_variables(const struct krun_nodes *nodes, struct arena *arena)
{
    unsigned n;
    const char *const *entries = krun_nodes_variables(nodes, &n);

    for (unsigned i = 0; i < n; i++) {
        const char *entry = byte_text_decode(arena, entries[i]);
        const size_t length = strcspn(entry, "=");

        if (entry[length] == '=' && !is_of_node(entry, length)
            && strncmp(entry, "KILN_CONFIG=", 12) != 0 && strncmp(entry, "KILN_SERVER=", 12) != 0)
            setenv(arena_strndup(arena, entry, length), entry + length + 1, true);
    }
}

/* The place is that of its agent, as text. */
static int
find_first_pod(struct kctl *kctl, const struct target_object *job, struct arena *arena,
               const struct json **ret_pod, const char **ret_place, struct error *err)
{
    struct krun_place place;
    const char *node;
    int r = job->kind == &job_kind ? find_pod(kctl, job, arena, ret_pod, err)
                                   : find_task(kctl, job, arena, ret_pod, err);

    if (r < 0)
        return r;
    node = json_path_text(*ret_pod, "spec.nodeName");
    if (node == NULL || json_path_text(*ret_pod, "metadata.uid") == NULL)
        return error_set(err, -EBADMSG, "the pod of the job has no node");
    r = find_place(kctl, node, arena, &place, err);
    if (r == 0)
        *ret_place = krun_place_format(arena, &place);
    return r;
}

int
job_steps_signal(struct kctl *kctl, const struct target_object *job, int64_t id, int signal_number,
                 struct arena *arena, struct error *err)
{
    const struct json *pod = NULL;
    const char *place;
    int r = find_first_pod(kctl, job, arena, &pod, &place, err);

    return r < 0 ? r
                 : krun_signal_step(place, json_path_text(pod, "metadata.uid"), id, signal_number,
                                    err);
}

int
job_steps_enter(struct kctl *kctl, const struct target_object *job, struct arena *arena,
                const char **ret_directory, struct error *err)
{
    CLEANUP(krun_nodes_freep) struct krun_nodes *nodes = NULL;
    const struct json *pod = NULL;
    const char *uid, *id, *text;
    int r = find_first_pod(kctl, job, arena, &pod, &text, err);

    if (r < 0)
        return r;
    uid = json_path_text(pod, "metadata.uid");
    krun_link_tell_waits(kctl->program != NULL ? kctl->program : "kctl");
    r = krun_nodes_open(text, uid, false, &nodes, err);
    if (r < 0)
        return r;
    leave_job(arena);
    set_variables(nodes, arena);
    id = annotation(pod, ANNOTATION_JOB_ID);
    if (id != NULL)
        setenv("KILN_JOB_ID", id, true);
    setenv("KILN_POD_UID", uid, true);
    setenv("KILN_STEP_SOCKET", text, true);
    *ret_directory = json_get_text(json_at(json_get_path(pod, "spec.containers"), 0), "workingDir");
    return 0;
}
