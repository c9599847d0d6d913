/* SPDX-License-Identifier: Apache-2.0 */
/* A step that is started from outside needs what the job's own processes have: the place of
 * the agent, and the variables of the job. This process may itself be in another job, so all
 * that is of that job is taken out first. Names of variables are the other user's choice, and
 * one that looks like an option of krun must not become one.
 */
#include "cli/kctl/client/job_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/connect/client_settings.h"
#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/log_pods.h"
#include "cli/krun/krun_grants.h"
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

/* ---- Grants ---- */

/* How many connections a program needs that starts. The first node gets two questions, two
 * requests, because the step manager may send krun to ask all nodes for what they have, and
 * the step; some are left for an agent that is restarted meanwhile. The others get a question
 * and the step.
 */
#define OF_FIRST 8
#define OF_OTHER 3

static int
add(struct krun_grants *grants, const struct json *answer, struct error *err)
{
    const char *node = json_get_text(answer, "node"), *key = json_get_text(answer, "nodeKey");
    const struct json *list = json_get(answer, "grants");
    int r = 0;

    if (node == NULL || key == NULL || json_count(list) == 0)
        return error_set(err, -EBADMSG, "the controller's answer is not understood");
    for (uint32_t i = 0; i < json_count(list) && r == 0; i++)
        r = json_is(json_at(list, i), JSON_STRING)
                ? krun_grants_add(grants, node, key, json_text(json_at(list, i)), err)
                : error_set(err, -EBADMSG, "the controller's answer is not understood");
    return r;
}

static int
ask(struct kctl *kctl, const struct json *pod, const char *key, int64_t count, struct arena *arena,
    struct krun_grants *grants, struct error *err)
{
    struct json *body = json_object(arena), *answer = NULL;
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &pod_kind,
        .namespace = json_path_text(pod, "metadata.namespace"),
        .name = json_path_text(pod, "metadata.name"),
        .subresource = "exec-grant",
        .body = body,
        .raw = true,
    };
    int r;

    json_set_string(arena, body, "key", key);
    json_set_int(arena, body, "count", count);
    r = kctl_call(kctl, &request, arena, &answer, err);
    return r < 0 ? r : add(grants, answer, err);
}

static bool
runs_elsewhere(const struct json *pod, const struct json *first)
{
    const char *phase = json_path_text(pod, "status.phase");
    const char *node = json_path_text(pod, "spec.nodeName"),
               *of_first = json_path_text(first, "spec.nodeName");

    return phase != NULL && strcmp(phase, "Running") == 0 && node != NULL && of_first != NULL
           && strcmp(node, of_first) != 0;
}

/* For connections to the pod, and to the others of the list that run: to start one program. -EACCES:
 * this user may not; -ENOSYS: the controller is of a release that has no grants.
 */
static int
get_grants(struct kctl *kctl, const struct json *pod, const struct json *others,
           struct arena *arena, struct krun_grants **ret_grants, struct error *err)
{
    CLEANUP(krun_grants_freep) struct krun_grants *grants = NULL;
    char key[KRUN_GRANTS_KEY_SIZE];
    int r = krun_grants_make(&grants, key, err);

    if (r == 0)
        r = ask(kctl, pod, key, OF_FIRST, arena, grants, err);
    for (uint32_t i = 0; i < json_count(others) && r == 0; i++)
        if (runs_elsewhere(json_at(others, i), pod))
            r = ask(kctl, json_at(others, i), key, OF_OTHER, arena, grants, err);
    if (r < 0)
        return r;
    *ret_grants = grants;
    grants = NULL;
    return 0;
}

/* ---- The job ---- */

/* The pods that programs are started in, and their job's user. */
struct first_pod {
    const char *words;        /* "job 1042" */
    const struct json *owner; /* the Job, or the pod */
    const struct json *pod;   /* that has the job's program */
    const struct json *pods;  /* all of the job; NULL: only this one */
};

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

static bool
is_own(const struct kctl *kctl, const struct json *object)
{
    const char *uid = annotation(object, ANNOTATION_UID);

    return kctl->as_user == NULL && (uid == NULL || strtoll(uid, NULL, 10) == (long long)getuid());
}

static int
refuse_others(const struct first_pod *f, bool takes_grants, struct error *err)
{
    const char *user = annotation(f->owner, ANNOTATION_USER);
    const bool may_become = getuid() == 0 && user != NULL;

    return error_set(err, -EPERM, "%s is a job of %s; only the job's user %s in it%s%s%s", f->words,
                     user != NULL ? user : "another user",
                     takes_grants ? "and administrators start programs" : "starts programs",
                     may_become ? " ('runuser -u " : "", may_become ? user : "",
                     may_become ? " -- ...')" : "");
}

/* A pod as it is shown to others than its user and administrators has no number of the job, and too
 * little to choose one.
 */
static int
check_shown(const struct kctl *kctl, const struct first_pod *f, const struct json *pod,
            struct error *err)
{
    return pod == NULL || is_own(kctl, f->owner) || annotation(pod, ANNOTATION_JOB_ID) != NULL
               ? 0
               : refuse_others(f, true, err);
}

/* The newest that runs; its first one, if the program runs on each node. */
static int
find_pod(struct kctl *kctl, const struct target_object *job, struct arena *arena,
         struct first_pod *f, struct error *err)
{
    struct json *pods = NULL;
    const char *state;
    int r = job_pods(kctl, job, arena, &pods, err);

    if (r == 0)
        r = check_shown(kctl, f, json_at(pods, 0), err);
    if (r < 0)
        return r;
    f->pods = json_dup(arena, pods);
    log_pods_leave_out_pauses(pods);
    pods = log_pods_of_first(pods, arena);
    for (uint32_t i = json_count(pods); i-- > 0;) {
        if (!runs(json_at(pods, i)))
            continue;
        if (f->pod != NULL)
            return error_set(err, -EINVAL, "several tasks of %s run; name one (JOB_TASK)",
                             f->words);
        f->pod = json_at(pods, i);
    }
    if (f->pod != NULL)
        return 0;
    state = json_path_text(f->owner, "status.state");
    if (state == NULL || strcmp(state, "Pending") == 0)
        return error_set(err, -EAGAIN,
                         "%s waits; programs are started in it when it runs ('kctl why' "
                         "says why it waits)",
                         f->words);
    return error_set(err, -EAGAIN, "%s does not run: it is %s%s", f->words, state,
                     strcmp(state, "Running") == 0 ? ", and starts or ends now" : "");
}

static int
find_task(struct kctl *kctl, struct first_pod *f, struct error *err)
{
    int r = check_shown(kctl, f, f->owner, err);

    if (r < 0)
        return r;
    if (!runs(f->owner))
        return error_set(err, -EAGAIN, "%s does not run: it is %s", f->words,
                         json_path_text(f->owner, "status.phase"));
    f->pod = f->owner;
    return 0;
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
find_place(const struct json *node, bool takes_grants, struct arena *arena, struct krun_place *p,
           struct error *err)
{
    const char *name = json_path_text(node, "metadata.name");
    const char *socket, *owner;
    struct client_settings settings = {0};
    int r;

    *p = (struct krun_place){.node = name};
    socket = json_path_text(node, "status.daemonEndpoints.kilnStepSocket");
    if (!takes_grants && socket != NULL && is_this_machine(node) && access(socket, W_OK) == 0) {
        p->socket = socket;
        return 0;
    }
    p->port = (unsigned)json_get_int(json_get_path(node, "status.daemonEndpoints.kubeletEndpoint"),
                                     "Port", 0);
    if (p->port == 0)
        return error_set(err, -EHOSTUNREACH,
                         "the agent of node '%s' has no port for steps ('listen' in its "
                         "agent.yaml), so programs are started in its jobs only on that node%s",
                         name, takes_grants ? ", and by the job's user" : "");
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

/* This process may be in another job. `all`: nothing of it is for the job's tasks. */
static void
leave_job(bool all, struct arena *arena)
{
    if (!all && getenv("KILN_JOB_ID") == NULL)
        return;
    for (char **at = environ; *at != NULL;) {
        const size_t length = strcspn(*at, "=");
        char *name = arena_strndup(arena, *at, length);

        if ((strncmp(name, "KILN_", 5) != 0 && strncmp(name, "SLURM", 5) != 0)
            || (!all && (strcmp(name, "KILN_SERVER") == 0 || strcmp(name, "KILN_CONFIG") == 0)))
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

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* The values may have commas, and krun's list has quotes for them. The job's user chooses the names,
 * and one like "KILN_A,ALL,B" would ask for the variables of this process.
 */
static void
add_exported(struct strbuf *list, const char *entry, struct arena *arena)
{
    const size_t length = strspn(entry, NAME_CHARS);
    const char *value = entry + length;
    const char quote = strstr(value, "',") == NULL ? '\'' : '"';

    if (strchr(value, '\'') != NULL && strchr(value, '"') != NULL)
        return;
    if (length > 0 && value[0] == '=')
        strbuf_printf(list, "%s%s=%c%s%c", list->length > 0 ? "," : "",
                      arena_strndup(arena, entry, length), quote, value + 1, quote);
}

/* Of the job and its user; nothing of this process. */
static const char *
list_variables(const struct krun_nodes *nodes, const struct first_pod *f, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const char *user = annotation(f->pod, ANNOTATION_USER),
               *id = annotation(f->pod, ANNOTATION_JOB_ID);
    unsigned n;
    const char *const *entries = krun_nodes_variables(nodes, &n);

    for (unsigned i = 0; i < n; i++) {
        const char *entry = byte_text_decode(arena, entries[i]);

        if ((strncmp(entry, "KILN_", 5) == 0 || strncmp(entry, "SLURM_", 6) == 0)
            && !is_of_node(entry, strcspn(entry, "=")))
            add_exported(&list, entry, arena);
    }
    if (user != NULL) {
        add_exported(&list, arena_printf(arena, "USER=%s", user), arena);
        add_exported(&list, arena_printf(arena, "LOGNAME=%s", user), arena);
    }
    add_exported(&list, arena_printf(arena, "KILN_JOB_ID=%s", id != NULL ? id : ""), arena);
    return arena_strdup(arena, list.text);
}

/* ---- The job ---- */

static int
find_owner(struct kctl *kctl, const struct target_object *job, struct arena *arena,
           struct first_pod *f, struct error *err)
{
    struct json *object = NULL;
    int r = kctl_get(kctl, job, arena, &object, err);

    *f = (struct first_pod){.owner = object};
    f->words = job->kind == &job_kind ? kctl_job_words(job, arena)
               : job->task != NULL    ? job->task
                                      : job->name;
    return r;
}

static int
find_first_pod(struct kctl *kctl, const struct target_object *job, struct arena *arena,
               struct first_pod *f, struct json **ret_node, struct error *err)
{
    struct target_object node = {.kind = &node_kind};
    int r = job->kind == &job_kind ? find_pod(kctl, job, arena, f, err) : find_task(kctl, f, err);

    if (r < 0)
        return r;
    node.name = json_path_text(f->pod, "spec.nodeName");
    if (node.name == NULL || json_path_text(f->pod, "metadata.uid") == NULL)
        return error_set(err, -EBADMSG, "the pod of the job has no node");
    return kctl_get(kctl, &node, arena, ret_node, err);
}

static bool
has_several_running(const struct json *pods)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < json_count(pods) && n < 2; i++)
        n += runs(json_at(pods, i));
    return n > 1;
}

int
job_steps_signal(struct kctl *kctl, const struct target_object *job, int64_t id, int signal_number,
                 struct arena *arena, bool *ret_is_spread, struct error *err)
{
    struct krun_place place;
    struct json *node = NULL;
    struct first_pod f;
    int r = find_owner(kctl, job, arena, &f, err);

    if (r == 0 && !is_own(kctl, f.owner))
        r = refuse_others(&f, false, err);
    if (r == 0)
        r = find_first_pod(kctl, job, arena, &f, &node, err);
    *ret_is_spread = r == 0 && has_several_running(f.pods);
    if (r == 0)
        r = find_place(node, false, arena, &place, err);
    return r < 0 ? r
                 : krun_signal_step(krun_place_format(arena, &place),
                                    json_path_text(f.pod, "metadata.uid"), id, signal_number, err);
}

/* Sets what tells krun where the job is. */
static void
set_place(const struct first_pod *f, const char *place)
{
    const char *id = annotation(f->pod, ANNOTATION_JOB_ID);

    if (id != NULL)
        setenv("KILN_JOB_ID", id, true);
    setenv("KILN_POD_UID", json_path_text(f->pod, "metadata.uid"), true);
    setenv("KILN_STEP_SOCKET", place, true);
}

static int
enter_as_user(const struct first_pod *f, const struct json *node, struct arena *arena,
              struct error *err)
{
    CLEANUP(krun_nodes_freep) struct krun_nodes *nodes = NULL;
    struct krun_place place;
    int r = find_place(node, false, arena, &place, err);
    const char *text = r == 0 ? krun_place_format(arena, &place) : NULL;

    if (r == 0)
        r = krun_nodes_open(text, json_path_text(f->pod, "metadata.uid"), false, &nodes, err);
    if (r < 0)
        return r;
    leave_job(false, arena);
    set_variables(nodes, arena);
    set_place(f, text);
    return 0;
}

/* This program and krun have the same grants, of which each uses its own. */
static int
share(const struct krun_grants *grants, struct krun_place *place, struct arena *arena,
      const char **ret_text, struct error *err)
{
    place->grants_fd = krun_grants_share(grants, err);
    *ret_text = krun_place_format(arena, place);
    return place->grants_fd < 0 ? place->grants_fd : 0;
}

static int
enter_by_grant(struct kctl *kctl, const struct first_pod *f, const struct json *node,
               struct arena *arena, struct job_entry *entry, struct error *err)
{
    CLEANUP(krun_grants_freep) struct krun_grants *grants = NULL;
    CLEANUP(krun_nodes_freep) struct krun_nodes *nodes = NULL;
    const char *own = NULL, *of_krun = NULL;
    struct krun_place place;
    int r = find_place(node, true, arena, &place, err);

    if (r == 0)
        r = get_grants(kctl, f->pod, f->pods, arena, &grants, err);
    if (r == 0)
        r = share(grants, &place, arena, &own, err);
    if (r == 0)
        r = krun_nodes_open(own, json_path_text(f->pod, "metadata.uid"), false, &nodes, err);
    if (r == 0)
        r = share(grants, &place, arena, &of_krun, err);
    if (r < 0)
        return r;
    leave_job(!is_own(kctl, f->owner), arena);
    if (is_own(kctl, f->owner))
        set_variables(nodes, arena);
    else
        entry->exported = list_variables(nodes, f, arena);
    set_place(f, of_krun);
    return 0;
}

static int
enter(struct kctl *kctl, const struct first_pod *f, const struct json *node, bool takes_grants,
      struct arena *arena, struct job_entry *entry, struct error *err)
{
    struct error why = {0};
    int r;

    if (!is_own(kctl, f->owner)) {
        r = enter_by_grant(kctl, f, node, arena, entry, err);
        return r == -EACCES ? refuse_others(f, true, err) : r;
    }
    r = enter_as_user(f, node, arena, err);
    if (r != -EHOSTDOWN || !takes_grants)
        return r;
    r = enter_by_grant(kctl, f, node, arena, entry, &why);
    return r == 0 ? 0
                  : error_set(err, r, "%s; without MUNGE the controller has to allow it: %s",
                              arena_strdup(arena, err->text), why.text);
}

int
job_steps_enter(struct kctl *kctl, const struct target_object *job, bool takes_grants,
                struct arena *arena, struct job_entry *ret_entry, struct error *err)
{
    struct json *node = NULL;
    struct first_pod f;
    int r = find_owner(kctl, job, arena, &f, err);

    *ret_entry = (struct job_entry){0};
    if (r == 0 && !is_own(kctl, f.owner) && !takes_grants)
        r = refuse_others(&f, false, err);
    if (r == 0)
        r = find_first_pod(kctl, job, arena, &f, &node, err);
    if (r < 0)
        return r;
    krun_link_announce_waits(kctl->program != NULL ? kctl->program : "kctl");
    r = enter(kctl, &f, node, takes_grants, arena, ret_entry, err);
    if (r == 0)
        ret_entry->directory =
            json_get_text(json_at(json_get_path(f.pod, "spec.containers"), 0), "workingDir");
    return r;
}
