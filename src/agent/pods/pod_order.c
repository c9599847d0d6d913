/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/environment.h"
#include "agent/pods/pod_host.h"
#include "agent/shepherd/files/order.h"
#include "agent/volumes/pod_mounts.h"
#include "lib/api/job/job.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/filename_pattern.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DEFAULT_UMASK     022
#define DEFAULT_GRACE_S   30
#define KILL_WAIT_MS      5000
#define GROUPS_TIMEOUT_MS 10000

void
pod_order_find_needs(const struct object *pod, struct pod_order_needs *ret_needs)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct string_map *notes = &pod->meta->annotations;

    *ret_needs = (struct pod_order_needs){0};
    if (owner == NULL)
        return;
    ret_needs->job = owner->name;
    ret_needs->script = string_map_find(notes, ANNOTATION_SCRIPT);
    ret_needs->environment = string_map_find(notes, ANNOTATION_ENVIRONMENT);
}

int
pod_order_check_user(const struct agent_context *agent, const struct object *pod, struct error *err)
{
    const struct security_context *who = pod_of(pod)->spec.security_context;

    if (who == NULL || who->run_as_user == NULL)
        return error_set(err, -EPERM,
                         "the pod does not name its user "
                         "(spec.securityContext.runAsUser)");
    if (agent->rootless && (uid_t)*who->run_as_user != agent->uid)
        return error_set(err, -EPERM,
                         "node '%s' runs only pods of uid %u, but this pod is "
                         "of uid %" PRId64,
                         agent->node, agent->uid, *who->run_as_user);
    if (*who->run_as_user == 0 && !agent->allow_root)
        return error_set(err, -EPERM,
                         "node '%s' does not run root's jobs "
                         "(allowRootJobs in its agent.yaml)",
                         agent->node);
    if (agent->service_uid != 0 && !agent->rootless && !agent->allow_root
        && *who->run_as_user == (int64_t)agent->service_uid)
        return error_set(err, -EPERM,
                         "node '%s' does not run jobs of the user that runs the "
                         "controller (allowRootJobs in its agent.yaml)",
                         agent->node);
    if (*who->run_as_user != 0 && !agent->rootless && (uid_t)*who->run_as_user < agent->min_uid)
        return error_set(err, -EPERM,
                         "node '%s' does not run jobs of users with uids "
                         "below %u (minUid in its agent.yaml)",
                         agent->node, agent->min_uid);
    return 0;
}

static int
check_shape(const struct pod *pod, struct error *err)
{
    if (pod->spec.containers.count != 1 || pod->spec.init_containers.count != 0)
        return error_set(err, -EINVAL,
                         "a pod must have one container and no init "
                         "containers, because it is one process");
    return 0;
}

/* The scheduler decided by the topology that it knew, which may have changed
 * since.
 */
static int
check_allocation(const struct agent_context *agent, const struct pod *pod, struct error *err)
{
    const struct allocation *a = pod->status.allocation;
    CLEANUP_STRBUF struct strbuf missing = STRBUF_INIT;

    if (a == NULL
        || (allocation_is_within(a, agent->topology, &missing)
            && allocation_is_backed(a, agent->topology, NULL, NULL, &missing)))
        return 0;
    return error_set(err, -ENODEV, "it was given %s, which node '%s' does not have", missing.text,
                     agent->node);
}

int
pod_order_check(const struct agent_context *agent, const struct object *object, struct error *err)
{
    const struct pod *pod = pod_of(object);
    int r = pod_order_check_user(agent, object, err);

    if (r == 0)
        r = check_shape(pod, err);
    return r < 0 ? r : check_allocation(agent, pod, err);
}

/* ---- Names and paths ---- */

static const char *
annotation(const struct object *pod, const char *name)
{
    return string_map_find(&pod->meta->annotations, name);
}

static const char *
work_dir_of(const struct object *pod)
{
    const struct container *c = &pod_of(pod)->spec.containers.items[0];

    return c->working_dir != NULL ? c->working_dir : "/";
}

static bool
ends_with_slash(const char *path)
{
    const size_t length = strlen(path);

    return length > 0 && path[length - 1] == '/';
}

/* Returns an absolute path; a relative one is below the working directory. */
static const char *
path_of(const struct agent_context *agent, const struct object *pod, struct arena *arena,
        const char *pattern)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *id = annotation(pod, ANNOTATION_JOB_ID);
    const char *user = annotation(pod, ANNOTATION_USER);
    struct filename_pattern_values values = {
        .job_id = id != NULL ? id : pod->meta->name,
        .job_name = environment_job_name(pod),
        .user = user != NULL ? user : "unknown",
        .node = agent->node,
    };

    if (pattern == NULL)
        return NULL;
    if (*pattern != '/')
        strbuf_printf(&out, "%s%s", work_dir_of(pod), ends_with_slash(work_dir_of(pod)) ? "" : "/");
    filename_pattern_expand(pattern, &values, &out);
    return arena_strndup(arena, out.text, out.length);
}

const char *
pod_order_output_path(const struct agent_context *agent, const struct object *pod,
                      struct arena *arena)
{
    const struct execution *e = pod_of(pod)->spec.execution;

    if (e != NULL && e->stdout_path != NULL)
        return path_of(agent, pod, arena, e->stdout_path);
    return arena_printf(arena, "%s/pods/%s/output", agent->state_dir, pod->meta->uid);
}

const char *
pod_order_error_path(const struct agent_context *agent, const struct object *pod,
                     struct arena *arena)
{
    const struct execution *e = pod_of(pod)->spec.execution;

    return e != NULL ? path_of(agent, pod, arena, e->stderr_path) : NULL;
}

static int64_t
umask_of(const struct execution *e)
{
    return e != NULL && e->umask != NULL ? strtol(e->umask, NULL, 8) : DEFAULT_UMASK;
}

static int
add_limits(const struct execution *e, struct order *o, struct error *err)
{
    int r;

    for (unsigned i = 0; e != NULL && i < e->limits.count; i++) {
        const struct rlimit_value *v = &e->limits.items[i];

        if (o->n_limits == RLIMIT_SETTINGS_MAX)
            return error_set(err, -E2BIG, "too many resource limits");
        r = rlimit_parse(v->name, v->soft, v->hard, &o->limits[o->n_limits], err);
        if (r < 0)
            return error_wrap(err, r, "spec.execution.limits[%u]", i);
        o->n_limits++;
    }
    return 0;
}

/* ---- The program ---- */

/* The pod holds its resources while the script runs on another node. */
static bool
is_pause(const struct container *c)
{
    return c->command.count == 1 && strcmp(c->command.items[0], POD_PAUSE_COMMAND) == 0;
}

static const char *
pause_program(const struct agent_context *agent, struct arena *arena)
{
    const char *slash = strrchr(agent->shepherd, '/');

    return arena_printf(arena, "%.*s" POD_PAUSE_COMMAND,
                        slash != NULL ? (int)(slash - agent->shepherd) + 1 : 0, agent->shepherd);
}

static int
set_arguments(const struct pod_order_input *in, struct arena *arena, struct order *o,
              struct error *err)
{
    const struct container *c = &pod_of(in->pod)->spec.containers.items[0];
    size_t n = c->command.count + c->args.count;

    o->arguments.items = arena_new_array(arena, const char *, n + 1);
    o->script_bytes = -1;
    if (in->script != NULL) {
        if (in->script_length < 2 || memcmp(in->script, "#!", 2) != 0)
            return error_set(err, -ENOEXEC,
                             "the script does not begin with '#!' and the "
                             "path of an interpreter, such as '#!/bin/sh'");
        o->script_bytes = (int64_t)in->script_length;
    } else if (n == 0) {
        return error_set(err, -EINVAL,
                         "nothing to run: the container has neither command "
                         "nor args, and the pod's job has no script");
    } else if (is_pause(c)) {
        o->arguments.items[o->arguments.count++] = pause_program(in->agent, arena);
    } else {
        for (unsigned i = 0; i < c->command.count; i++)
            o->arguments.items[o->arguments.count++] = c->command.items[i];
    }
    for (unsigned i = 0; i < c->args.count; i++)
        o->arguments.items[o->arguments.count++] = c->args.items[i];
    return 0;
}

static void
set_placement(const struct pod_order_input *in, struct order *o)
{
    const struct allocation *a = pod_of(in->pod)->status.allocation;

    if (a == NULL || in->agent->is_virtual)
        return;
    o->cpus = a->cpus;
    o->memory_nodes = a->memory_nodes;
    if (a->memory_nodes != NULL)
        o->memory_policy = pod_memory_policy(pod_of(in->pod));
}

/* A rootless agent cannot mount, so the job gets the paths in variables. */
static void
set_mounts(const struct pod_order_input *in, struct arena *arena, struct order *o)
{
    const struct mount_list *mounts = in->mounts;

    if (mounts == NULL || mounts->count == 0)
        return;
    o->mounts.items = arena_new_array(arena, const char *, mounts->count);
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount_place *m = &mounts->items[i];

        if (strcmp(m->volume, VOLUME_OF_TMPDIR) == 0) {
            o->tmp_dir = NULL;
            o->own_dir = m->source;
        }
        if (m->target != NULL && !in->agent->rootless)
            o->mounts.items[o->mounts.count++] =
                order_mount(arena, m->source, m->target, m->read_only);
    }
}

/* The first container is the pod's process. */
static bool
may_gain_privileges(const struct object *pod, struct arena *arena)
{
    const struct json *containers = json_get_path(object_tree(pod, arena), "spec.containers");
    const struct json *allowed =
        json_get_path(json_at(containers, 0), "securityContext.allowPrivilegeEscalation");

    return allowed == NULL || json_is_true(allowed);
}

/* ---- Hooks of the site ---- */

static void
add_hook_variables(struct arena *arena, struct order *o, const char *name, const char *value)
{
    if (value != NULL)
        o->hook_environment.items[o->hook_environment.count++] =
            arena_printf(arena, "%s=%s", name, value);
}

/* Root's programs trust these variables, so no value comes from a user, except
 * the job's name.
 */
static void
set_hooks(const struct pod_order_input *in, struct arena *arena, struct order *o)
{
    const struct agent_context *agent = in->agent;
    const struct meta *meta = in->pod->meta;
    const struct allocation *a = pod_of(in->pod)->status.allocation;

    o->prolog = agent->prolog;
    o->epilog = agent->epilog;
    o->hook_timeout_ms = agent->hook_timeout_ms;
    if (o->prolog == NULL && o->epilog == NULL)
        return;
    o->hook_environment.items = arena_new_array(arena, const char *, 16);
    add_hook_variables(arena, o, "PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    add_hook_variables(arena, o, "KILN_JOB_ID", annotation(in->pod, ANNOTATION_JOB_ID));
    add_hook_variables(arena, o, "KILN_JOB_NAME", environment_job_name(in->pod));
    add_hook_variables(arena, o, "KILN_JOB_USER", annotation(in->pod, ANNOTATION_USER));
    add_hook_variables(arena, o, "KILN_JOB_UID", arena_printf(arena, "%" PRId64, o->uid));
    if (o->gid >= 0)
        add_hook_variables(arena, o, "KILN_JOB_GID", arena_printf(arena, "%" PRId64, o->gid));
    add_hook_variables(arena, o, "KILN_JOB_ACCOUNT", environment_account(in->pod));
    add_hook_variables(arena, o, "KILN_POD_NAME", meta->name);
    add_hook_variables(arena, o, "KILN_POD_UID", meta->uid);
    add_hook_variables(arena, o, "KILN_NODE_NAME", agent->node);
    add_hook_variables(arena, o, "KILN_JOB_TMPDIR", o->tmp_dir);
    add_hook_variables(arena, o, "KILN_CPUS", a != NULL ? a->cpus : NULL);
    add_hook_variables(arena, o, "KILN_MEMORY_NODES", a != NULL ? a->memory_nodes : NULL);
}

/* The shepherd enforces the limit, so that it also holds without an agent. A
 * job without a limit may get one later (kctl update), and its warning comes
 * before a preemption, too.
 */
static void
set_time_limit(const struct pod *pod, int64_t shutdown_ms, struct order *o)
{
    const struct execution *e = pod->spec.execution;
    const int64_t *grace = pod->spec.termination_grace_seconds;

    if (pod->spec.active_deadline_seconds != NULL)
        o->time_limit_ms = *pod->spec.active_deadline_seconds * 1000;
    o->grace_ms = (grace != NULL ? *grace : DEFAULT_GRACE_S) * 1000;
    o->shutdown_grace_ms = o->grace_ms < shutdown_ms ? o->grace_ms : shutdown_ms;
    if (e == NULL || e->signal == NULL)
        return;
    o->warn_before_ms = e->signal->seconds_before * 1000;
    o->warn_signal = pod_host_parse_signal(e->signal->name);
    o->warn_main = e->signal->batch_only;
}

/* The output of earlier attempts is kept unless the user asked otherwise. */
static bool
appends(const struct object *pod, const struct execution *e)
{
    const char *attempt = string_map_find(&pod->meta->annotations, ANNOTATION_ATTEMPT);

    return e->open_mode != NULL ? strcmp(e->open_mode, "append") == 0
                                : attempt != NULL && strtoll(attempt, NULL, 10) > 0;
}

int
pod_order_compose(const struct pod_order_input *in, struct arena *arena, struct order *o,
                  struct error *err)
{
    const struct agent_context *agent = in->agent;
    const struct pod *pod = pod_of(in->pod);
    const struct execution *e = pod->spec.execution;
    const struct security_context *who = pod->spec.security_context;
    int r;

    order_init(o);
    o->pod = arena_printf(arena, "%s/%s", pod->meta.namespace, pod->meta.name);
    o->pod_uid = pod->meta.uid;
    o->state_dir = arena_printf(arena, "%s/pods/%s", agent->state_dir, pod->meta.uid);
    o->run_dir = arena_printf(arena, "%s/pods/%s", agent->run_dir, pod->meta.uid);
    o->tmp_dir = in->tmp_dir;
    o->uid = *who->run_as_user;
    o->gid = who->run_as_group != NULL ? *who->run_as_group : -1;
    o->users_dir = arena_printf(arena, "%s/users", agent->run_dir);
    o->groups_timeout_ms = GROUPS_TIMEOUT_MS;
    o->allow_root = agent->allow_root;
    o->job_cgroup = in->job_cgroup;
    o->shepherd_cgroup = in->shepherd_cgroup;
    o->kill_wait_ms = KILL_WAIT_MS;
    set_time_limit(pod, agent->shutdown_grace_ms, o);
    o->heard_path = arena_printf(arena, AGENT_CONTEXT_HEARD, agent->run_dir);
    o->work_dir = work_dir_of(in->pod);
    o->umask = umask_of(e);
    o->stdout_path = pod_order_output_path(agent, in->pod, arena);
    if (e != NULL) {
        o->stdin_path = path_of(agent, in->pod, arena, e->stdin_path);
        o->stderr_path = path_of(agent, in->pod, arena, e->stderr_path);
        o->fence_after_ms = e->fence_after_s * 1000;
        o->checkpoint = e->checkpoint_command != NULL && e->checkpoint_command[0] != '\0'
                            ? e->checkpoint_command
                            : NULL;
        o->append = appends(in->pod, e);
    }
    o->awaits_start = pod_awaits_start(pod);
    o->no_new_privileges = !may_gain_privileges(in->pod, arena);
    set_placement(in, o);
    set_hooks(in, arena, o);
    set_mounts(in, arena, o);
    r = add_limits(e, o, err);
    if (r == 0)
        r = set_arguments(in, arena, o, err);
    if (r == 0)
        r = environment_compose(in, arena, o, err);
    return r;
}
