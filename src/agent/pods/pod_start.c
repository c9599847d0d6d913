/* SPDX-License-Identifier: Apache-2.0 */
/* pod_start.c - starts an arrived pod: fetches its blobs, then starts a shepherd
 *
 * Each step may take long and calls back, and the pod may be deleted meanwhile. Then all that was
 * fetched is thrown away. Nothing of the pod is on this node before the worker has begun,
 * so a failure until then leaves nothing to be removed.
 */
#include "agent/pods/pod_start.h"

#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgpool.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/files/blobs.h"
#include "agent/pods/files/group_nodes.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/shared_pool.h"
#include "agent/shepherd/launch.h"
#include "agent/volumes/pod_mounts.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"

struct pod_start {
    struct pod_start_settings s;
    const struct blob *script;
    const struct blob *environment;
    struct mount_list *mounts;
    struct pod_host_start start;
    int result;
    struct error err;
};

static void
free_start(struct pod_start *st)
{
    blob_release(st->script);
    blob_release(st->environment);
    mount_list_free(st->mounts);
    object_unref(st->start.pod);
    free(st->start.nodes);
    free(st->start.partition);
    free(st->start.shared_cpus);
    free(st->start.unpartitioned);
    free(st->start.tmp_dir);
    free(st);
}

static void
start_work(void *arg)
{
    struct pod_start *st = arg;

    st->result = pod_host_start(&st->start, &st->err);
}

static void
finish(struct pod_start *st, const struct pod_start_result *result)
{
    const struct pod_start_settings s = st->s;

    free_start(st);
    if (pod_run_end_work(s.run))
        s.done(s.run, result);
}

static void
start_done(void *arg)
{
    struct pod_start *st = arg;
    const struct meta *meta = st->start.pod->meta;
    const struct error err = st->err;
    const struct pod_start_result result = {
        .outcome = st->result < 0 ? POD_START_FAILED : POD_START_STARTED,
        .words = err.text,
        .is_nodes_fault = st->start.is_nodes_fault,
    };

    if (st->start.tmp_left)
        tmp_dirs_sweep_soon(st->s.agent->tmp_dirs);
    if (st->start.unpartitioned != NULL)
        log_warning("pod '%s/%s': %s", meta->namespace, meta->name, st->start.unpartitioned);
    st->s.made(st->s.run, st->start.cgroup, &st->start.shepherd, st->start.tmp_dir);
    st->start.tmp_dir = NULL;
    finish(st, &result);
}

static char *
list_shared(struct shared_pool *pool)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct bitset cpus;

    if (pool == NULL)
        return NULL;
    cpus = shared_pool_cpus(pool);
    cpuset_format(&cpus, &list);
    return strbuf_take(&list);
}

static char *
dup_partition(const struct agent_context *agent)
{
    const char *name =
        agent->find_label != NULL ? agent->find_label(LABEL_PARTITION, agent->ask_context) : NULL;

    return name != NULL ? xstrdup(name) : NULL;
}

static void
start_on_worker(struct pod_start *st)
{
    const struct agent_context *agent = st->s.agent;

    if (pod_run_is_unwanted(st->s.run)) {
        finish(st, &(struct pod_start_result){.outcome = POD_START_UNWANTED});
        return;
    }
    st->start.agent = agent;
    st->start.topology = agent->topology;
    st->start.partition = dup_partition(agent);
    st->start.shared_cpus = list_shared(st->s.shared_pool);
    st->start.pod = object_ref(pod_run_pod(st->s.run));
    st->start.shepherd = (struct shepherd_process){.pidfd = -1, .channel = -1};
    if (st->script != NULL) {
        st->start.script = blob_bytes(st->script);
        st->start.script_length = blob_length(st->script);
    }
    if (st->environment != NULL) {
        st->start.environment = blob_bytes(st->environment);
        st->start.environment_length = blob_length(st->environment);
    }
    st->start.mounts = st->mounts;
    if (agent->pool != NULL)
        st->start.cgroup = cgpool_take(agent->pool);
    workers_submit(agent->workers, agent->loop, start_work, start_done, st);
}

static void
fail_early(struct pod_start *st, const char *text)
{
    finish(st, &(struct pod_start_result){.outcome = POD_START_NOT_BEGUN, .words = text});
}

static void
fail_to_fetch(struct pod_start *st, const char *what, const struct error *err)
{
    CLEANUP_FREE char *text = xasprintf("cannot fetch the job's %s: %s", what, err->text);

    fail_early(st, text);
}

static bool
is_start_wanted(void *context)
{
    const struct pod_start *st = context;

    return !pod_run_is_unwanted(st->s.run);
}

static void
on_nodes(const char *list, const struct error *err, void *context)
{
    struct pod_start *st = context;

    if (err != NULL) {
        fail_early(st, err->text);
        return;
    }
    st->start.nodes = list != NULL ? xstrdup(list) : NULL;
    start_on_worker(st);
}

static void
on_volumes(struct mount_list *list, const struct error *err, void *context)
{
    struct pod_start *st = context;
    const struct object *pod = pod_run_pod(st->s.run);
    const char *group = pod_group_named_by(pod);

    st->mounts = list;
    if (err != NULL)
        fail_early(st, err->text);
    else if (group == NULL)
        start_on_worker(st);
    else
        group_nodes_get(st->s.group_nodes, &(struct group_nodes_question){
                                               .namespace = pod->meta->namespace,
                                               .group = group,
                                               .node = st->s.agent->node,
                                               .is_wanted = is_start_wanted,
                                               .got = on_nodes,
                                               .context = st,
                                           });
}

static void
look_up_volumes(struct pod_start *st)
{
    pod_mounts_get(st->s.pod_mounts, pod_run_pod(st->s.run), on_volumes, st);
}

static void
on_environment(const struct blob *blob, const struct error *err, void *context)
{
    struct pod_start *st = context;

    st->environment = blob;
    if (blob == NULL)
        fail_to_fetch(st, "environment", err);
    else
        look_up_volumes(st);
}

static void
fetch_environment(struct pod_start *st)
{
    const struct object *pod = pod_run_pod(st->s.run);
    struct pod_order_needs needs;

    pod_order_find_needs(pod, &needs);
    if (needs.environment == NULL)
        look_up_volumes(st);
    else
        blobs_get(st->s.blobs, pod->meta->namespace, needs.job, "environment", needs.environment,
                  on_environment, st);
}

static void
on_script(const struct blob *blob, const struct error *err, void *context)
{
    struct pod_start *st = context;

    st->script = blob;
    if (blob == NULL)
        fail_to_fetch(st, "script", err);
    else
        fetch_environment(st);
}

void
pod_start_begin(const struct pod_start_settings *settings)
{
    const struct object *pod = pod_run_pod(settings->run);
    struct pod_start *st = xnew(struct pod_start);
    struct pod_order_needs needs;

    st->s = *settings;
    pod_run_begin_work(st->s.run);
    pod_order_find_needs(pod, &needs);
    if (needs.script == NULL)
        fetch_environment(st);
    else
        blobs_get(st->s.blobs, pod->meta->namespace, needs.job, "script", needs.script, on_script,
                  st);
}
