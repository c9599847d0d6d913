/* SPDX-License-Identifier: Apache-2.0 */
/* pod_start.c - starts an arrived pod: fetches its blobs, then starts a
 * shepherd, which may start a pod of a gang when all of its pods are prepared
 */
#include "agent/cgroup/cgpool.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/files/blobs.h"
#include "agent/pods/files/group_nodes.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_run_state.h"
#include "agent/pods/shared_pool.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/launch.h"
#include "agent/volumes/pod_mounts.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/loop/workers.h"

struct pod_start {
    struct pod_run *run;
    const struct blob *script;
    const struct blob *environment;
    struct mount_list *mounts;
    struct pod_host_start start;
    int result;
    struct error err;
};

void
pod_start_note(const struct pod_run *s, const char *failure)
{
    const struct agent_context *agent = s->s.agent;

    if (agent->note_start != NULL)
        agent->note_start(failure, agent->start_context);
}

void
pod_start_fail(struct pod_run *s, const char *words)
{
    if (s->end_reason == NULL)
        pod_run_set_end(s, REASON_START_ERROR, words);
    s->is_disruption = true;
    log_warning("pod '%s/%s' cannot be started: %s", s->pod->meta->namespace, s->pod->meta->name,
                words);
    pod_run_record(s, RECORD_WARNING, EVENT_START_ERROR, words);
    pod_start_note(s, words);
}

static void
pod_start_free(struct pod_start *st)
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
start_done(void *arg)
{
    struct pod_start *st = arg;
    struct pod_run *s = st->run;
    struct error err = st->err;
    int result = st->result;
    bool is_nodes_fault = st->start.is_nodes_fault;

    s->cgroup = st->start.cgroup;
    s->pidfd = st->start.shepherd.pidfd;
    s->channel = st->start.shepherd.channel;
    free(s->tmp_dir);
    s->tmp_dir = st->start.tmp_dir;
    st->start.tmp_dir = NULL;
    if (st->start.tmp_left)
        tmp_dirs_sweep_soon(s->s.agent->tmp_dirs);
    if (st->start.unpartitioned != NULL)
        log_warning("pod '%s/%s': %s", s->pod->meta->namespace, s->pod->meta->name,
                    st->start.unpartitioned);
    pod_start_free(st);
    if (!pod_run_end_work(s))
        return;
    if (result < 0) {
        if (is_nodes_fault)
            pod_start_fail(s, err.text);
        else
            pod_run_set_end(s, REASON_START_ERROR, err.text);
        pod_run_set_phase(s, POD_RUN_ENDED);
        pod_cleanup_begin(s);
        return;
    }
    pod_run_set_phase(s, POD_RUN_LAUNCHED);
    shepherd_watch_begin(s);
}

static char *
list_shared(const struct pod_run *s)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct bitset cpus;

    if (s->s.shared_pool == NULL)
        return NULL;
    cpus = shared_pool_cpus(s->s.shared_pool);
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
    struct pod_run *s = st->run;
    const struct agent_context *agent = s->s.agent;

    if (pod_run_is_unwanted(s)) {
        pod_start_free(st);
        if (pod_run_end_work(s))
            pod_run_finish_silently(s);
        return;
    }
    st->start.agent = agent;
    st->start.topology = agent->topology;
    st->start.partition = dup_partition(agent);
    st->start.shared_cpus = list_shared(s);
    st->start.pod = object_ref(s->pod);
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
    struct pod_run *s = st->run;

    pod_start_free(st);
    if (pod_run_end_work(s)) {
        pod_run_set_end(s, REASON_START_ERROR, text);
        pod_run_finish(s);
    }
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

    return !pod_run_is_unwanted(st->run);
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
    struct pod_run *s = st->run;
    const char *group = pod_group_named_by(s->pod);

    st->mounts = list;
    if (err != NULL)
        fail_early(st, err->text);
    else if (group == NULL)
        start_on_worker(st);
    else
        group_nodes_get(s->s.group_nodes, &(struct group_nodes_question){
                                              .namespace = s->pod->meta->namespace,
                                              .group = group,
                                              .node = s->s.agent->node,
                                              .is_wanted = is_start_wanted,
                                              .got = on_nodes,
                                              .context = st,
                                          });
}

static void
look_up_volumes(struct pod_start *st)
{
    struct pod_run *s = st->run;

    pod_mounts_get(s->s.pod_mounts, s->pod, on_volumes, st);
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
    struct pod_run *s = st->run;
    struct pod_order_needs needs;

    pod_order_find_needs(s->pod, &needs);
    if (needs.environment == NULL)
        look_up_volumes(st);
    else
        blobs_get(s->s.blobs, s->pod->meta->namespace, needs.job, "environment", needs.environment,
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
pod_start_begin(struct pod_run *s)
{
    struct pod_start *st;
    struct pod_order_needs needs;

    pod_run_set_phase(s, POD_RUN_PREPARING);
    st = xnew(struct pod_start);
    st->run = s;
    s->busy++;
    pod_order_find_needs(s->pod, &needs);
    if (needs.script == NULL)
        fetch_environment(st);
    else
        blobs_get(s->s.blobs, s->pod->meta->namespace, needs.job, "script", needs.script, on_script,
                  st);
}

/* ---- The start barrier of a gang ---- */

/* The pod's condition Prepared is what this agent reports, its annotation
 * ANNOTATION_GANG_STARTED what it is told; both are in the store, so a restarted agent
 * continues. The shepherd is told again until its record shows that it has started,
 * which saves a record of what was sent.
 */

/* Without the condition: a running pod is prepared, too, but has nothing to report. */
static bool
is_reported(const struct pod *pod)
{
    return pod_find_condition(pod, CONDITION_PREPARED) != NULL && pod_is_prepared(pod);
}

static void
let_start(const struct pod_run *s)
{
    struct error err = {0};

    if (launch_let_start(s->pidfd, &err) < 0)
        log_debug("pod '%s/%s': %s", s->pod->meta->namespace, s->pod->meta->name, err.text);
}

void
pod_start_advance(struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);

    if (pod_start_barrier(pod) == 0 || s->wanted > REPORT_PREPARED)
        return;
    if (!pod_awaits_start(pod))
        let_start(s);
    else if (s->live == NULL || s->live->is_prepared == 0)
        return;
    else if (is_reported(pod) && s->wanted < REPORT_PREPARED) /* by an earlier agent */
        s->wanted = s->reported = REPORT_PREPARED;
    else
        status_report_request(s, REPORT_PREPARED);
}

/* An older store that was put back does not have the report. */
void
pod_start_note_update(struct pod_run *s)
{
    const struct pod *pod = pod_of(s->pod);

    if (s->phase != POD_RUN_LAUNCHED || s->pidfd < 0 || pod_start_barrier(pod) == 0)
        return;
    if (!pod_awaits_start(pod)) {
        let_start(s);
        shepherd_watch_poll_soon(s);
    } else if (s->wanted == REPORT_PREPARED && s->reported == REPORT_PREPARED && s->call == NULL
               && !is_reported(pod)) {
        status_report_repeat(s);
    }
}
