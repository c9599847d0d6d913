/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pods.h"

#include <stdbool.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/blobs.h"
#include "agent/pods/files/group_nodes.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods_state.h"
#include "agent/pods/shared_pool.h"
#include "agent/records/end_record.h"
#include "agent/shepherd/fence.h"
#include "agent/volumes/pod_mounts.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/event_recorder.h"
#include "lib/client/informer.h"
#include "lib/loop/timer.h"

const struct object *
pods_find_known(const struct pods *p, const struct object *pod)
{
    const struct object *o = p->informer != NULL
                                 ? informer_find(p->informer, pod->meta->namespace, pod->meta->name)
                                 : NULL;

    return o != NULL && strcmp(o->meta->uid, pod->meta->uid) == 0 ? o : NULL;
}

/* Whether the watch may still show the pod as it was before its end. That old
 * state must not start the finished job a second time.
 */
static bool
may_be_shown_alive(const struct pods *p, const struct object *pod)
{
    const struct object *known = pods_find_known(p, pod);

    if (known == NULL)
        return p->informer == NULL || !informer_has_synced(p->informer);
    return !pod_is_finished(pod_of(known));
}

/* Memory that others have released may be enough for pods that had lost some. */
static void
recheck_short_pods(struct pods *p)
{
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        if (pod_run_has_lost(run))
            pod_run_recheck(run);
}

/* The memory of a NUMA node that is allocated to pods here. */
static int64_t
sum_given(int64_t node, int64_t page_bytes, void *context)
{
    const struct pods *p = context;
    int64_t sum = 0;
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run)) {
        const struct allocation *a = pod_of(pod_run_pod(run))->status.allocation;

        if (a != NULL && pod_run_holds_cores(run) && !pod_run_is_waiting(run))
            sum += allocation_memory_of(a, node, page_bytes);
    }
    return sum;
}

static void
on_over(struct pod_run *run, void *context)
{
    struct pods *p = context;

    map_remove(p->runs, pod_run_uid(run));
    map_remove(p->known_again, pod_run_uid(run));
    if (may_be_shown_alive(p, pod_run_pod(run)))
        map_put(p->over, pod_run_uid(run), p);
    if (pod_run_is_forgotten(run))
        pod_host_remove_all(p->agent, pod_run_uid(run));
    else
        pod_host_remove_records(p->agent, pod_run_uid(run));
    pod_run_free(run);
    recheck_short_pods(p);
    p->left(p->context);
}

/* From a timer, after the calling run has completed its change. */
static void
on_holding_changed(UNUSED struct pod_run *run, void *context)
{
    struct pods *p = context;

    timer_start(p->arrival_timer, 0);
}

struct pod_run *
pods_add_run(struct pods *p, const struct object *pod)
{
    struct pod_run_settings settings = {
        .agent = p->agent,
        .blobs = p->blobs,
        .group_nodes = p->group_nodes,
        .pod_mounts = p->pod_mounts,
        .shared_pool = p->shared_pool,
        .over = on_over,
        .holding_changed = on_holding_changed,
        .has_lent = pods_has_lent,
        .given = sum_given,
        .context = p,
        .n_launched = &p->n_launched,
        .ends = p->ends,
    };
    struct pod_run *run = pod_run_new(&settings, pod);

    map_put(p->runs, pod_run_uid(run), run);
    return run;
}

static void
add_pod(struct pods *p, const struct object *pod)
{
    struct error err = {0};
    bool wants_to_run = !pod_is_finished(pod_of(pod)) && pod->meta->deleted_at_us == 0
                        && !pod_run_is_past(p->agent, pod);
    const struct pod_run *other = wants_to_run ? pods_find_overlap(p, pod, &err) : NULL;
    struct pod_run *run = pods_add_run(p, pod);

    /* The pod's end was reported when its cores were free, so the run only has
     * to end. Other pods that are past have released their cores, too: a pod that
     * was started on them since does not keep their ends from being reported.
     */
    if (pod_is_finished(pod_of(pod))) {
        pod_run_dismiss(run);
        return;
    }
    if (other == NULL) {
        pod_run_resume(run);
        return;
    }
    /* Decided later, after all pods of the same list have been added. */
    pod_run_wait_for_cores(run);
    timer_start(p->arrival_timer, 0);
}

static void
end_forgotten(struct pod_run *run)
{
    log_info("pod '%s/%s' is no longer in the API, ending it", pod_run_pod(run)->meta->namespace,
             pod_run_pod(run)->meta->name);
    pod_run_note_forgotten(run);
}

/* If the pod was not being deleted, the cluster is checked first: the
 * controller may be of another cluster, or its store may have lost revisions.
 */
static void
forget(struct pods *p, struct pod_run *run)
{
    if (p->agent->ask_if_forgotten == NULL || pod_run_pod(run)->meta->deleted_at_us != 0
        || pod_is_finished(pod_of(pod_run_pod(run)))) {
        end_forgotten(run);
        return;
    }
    map_put(p->forgotten, pod_run_uid(run), p);
    p->agent->ask_if_forgotten(p->agent->ask_context);
}

/* A list of another cluster lacks our pods. So after a list their output is
 * kept until the cluster has been checked.
 */
static void
forget_dirs(struct pods *p, const char *uid)
{
    if (p->agent->ask_if_forgotten == NULL || !informer_is_listing(p->informer)) {
        pod_host_remove_all(p->agent, uid);
        return;
    }
    map_put(p->dropped, uid, p);
    p->agent->ask_if_forgotten(p->agent->ask_context);
}

static bool
make_orphan(struct pods *p, struct pod_run *run)
{
    const struct object *pod = pod_run_pod(run);

    if (pod_run_is_orphan(run) || pod_run_is_abandoned(run))
        return false;
    log_warning("pod '%s/%s' is unknown to the API, whose store has lost "
                "changes of that time: it is kept until an administrator "
                "decides (kctl orphans)",
                pod->meta->namespace, pod->meta->name);
    map_remove(p->known_again, pod_run_uid(run));
    pod_run_set_orphan(run, true);
    return true;
}

struct sweep {
    struct pods *pods;
    struct map *known; /* the API's pods here, by uid: OVER or NOT_OVER */
};

static char over, not_over;
#define OVER     ((void *)&over)
#define NOT_OVER ((void *)&not_over)

static void
note_uid(const struct object *pod, void *context)
{
    struct sweep *s = context;

    map_put(s->known, pod->meta->uid, pod_is_finished(pod_of(pod)) ? OVER : NOT_OVER);
}

/* The controller is of our cluster and still lacks these pods. */
static void
forget_dropped(struct pods *p)
{
    struct sweep s = {.pods = p, .known = map_new()};
    const char *uid;
    size_t at = 0;
    void *value;

    informer_visit(p->informer, note_uid, &s);
    while (map_next(p->dropped, &at, &uid, &value))
        if (map_find(s.known, uid) == NULL)
            pod_host_remove_all(p->agent, uid);
    map_free(s.known);
    map_free(p->dropped);
    p->dropped = map_new();
}

bool
pods_resolve_forgotten(struct pods *p, pods_is_lost_fn *is_lost, void *context)
{
    struct map *forgotten = p->forgotten;
    bool has_orphans = false;
    const char *uid;
    size_t at = 0;
    void *value;

    p->forgotten = map_new();
    while (map_next(forgotten, &at, &uid, &value)) {
        struct pod_run *run = map_find(p->runs, uid);

        if (run == NULL || pods_find_known(p, pod_run_pod(run)) != NULL)
            continue;
        if (is_lost(pod_run_pod(run)->revision, context))
            has_orphans |= make_orphan(p, run);
        else
            end_forgotten(run);
    }
    map_free(forgotten);
    if (map_count(p->dropped) > 0)
        forget_dropped(p);
    return has_orphans;
}

void
pods_end_orphans(struct pods *p, const char *uids)
{
    struct pod_run **ending = NULL;
    size_t n = 0, capacity = 0, at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        if (pod_run_is_orphan(run) && strstr(uids, pod_run_uid(run)) != NULL) {
            xgrow(ending, n, capacity);
            ending[n++] = run;
        }
    for (size_t i = 0; i < n; i++) {
        log_info("an administrator ends the orphan '%s/%s'",
                 pod_run_pod(ending[i])->meta->namespace, pod_run_pod(ending[i])->meta->name);
        pod_run_set_orphan(ending[i], false);
        pod_run_note_forgotten(ending[i]);
    }
    free(ending);
}

static void
on_interrupted(void *context)
{
    const struct pods *p = context;

    if (p->agent->interrupted != NULL)
        p->agent->interrupted(p->agent->ask_context);
}

static void
on_change(const struct object *old_object, const struct object *new_object, void *context)
{
    struct pods *p = context;
    const struct object *pod = new_object ? new_object : old_object;
    struct pod_run *run = map_find(p->runs, pod->meta->uid);
    struct pod_run *former;

    if (new_object == NULL || pod_is_finished(pod_of(pod)))
        map_remove(p->over, pod->meta->uid);
    if (new_object == NULL) {
        if (run != NULL)
            forget(p, run);
        else
            forget_dirs(p, pod->meta->uid);
        return;
    }
    /* The pod was deleted and created again while the watch was interrupted. */
    if (old_object != NULL && strcmp(old_object->meta->uid, pod->meta->uid) != 0) {
        former = map_find(p->runs, old_object->meta->uid);
        if (former != NULL)
            pod_run_note_forgotten(former);
    }
    if (p->agent->note_revision != NULL && run == NULL)
        p->agent->note_revision(pod->revision, p->agent->ask_context);
    if (run != NULL) {
        pods_note_known(p, run);
        pod_run_update(run, pod);
    } else if (pod_is_finished(pod_of(pod)) && pod->meta->deleted_at_us == 0)
        return; /* its end was reported; its output is kept with the pod */
    else if (map_find(p->over, pod->meta->uid) != NULL && !informer_is_listing(p->informer))
        return;
    else if (pod->meta->deleted_at_us == 0 && pods_repeat_end(p, pod))
        return;
    else if (map_find(p->over, pod->meta->uid) != NULL)
        return;
    else if (pod_of(pod)->status.allocation != NULL || pod->meta->deleted_at_us != 0)
        add_pod(p, pod);
    /* A pod that is bound without an allocation waits until the scheduler adds
     * one, or refuses the pod.
     */
}

static void
forget_unknown(const char *uid, void *context)
{
    const struct sweep *s = context;
    const void *state = map_find(s->known, uid);

    if (map_find(s->pods->runs, uid) != NULL)
        return;
    if (state == NULL)
        pod_host_remove_all(s->pods->agent, uid);
    else if (state == OVER) /* an agent was killed after it reported the end */
        pod_host_remove_records(s->pods->agent, uid);
}

/* Removes directories of pods that were deleted or finished while no agent ran.
 */
static void
remove_unknown_dirs(struct pods *p)
{
    struct sweep s = {.pods = p, .known = map_new()};

    informer_visit(p->informer, note_uid, &s);
    pod_host_list(p->agent, forget_unknown, &s);
    map_free(s.known);
}

/* Drops the uids that the list lacks: a list from before a pod's end would
 * still have the pod.
 */
static void
forget_over(struct pods *p)
{
    struct sweep s = {.pods = p, .known = map_new()};
    const char *uid;
    size_t at = 0;
    void *value;

    informer_visit(p->informer, note_uid, &s);
    while (map_next(p->over, &at, &uid, &value))
        if (map_find(s.known, uid) == NULL)
            map_remove(p->over, uid);
    map_free(s.known);
}

/* A pod that has a run here but is missing in the API's list is gone. */
static void
on_synced(void *context)
{
    struct pods *p = context;
    struct pod_run **gone = NULL;
    size_t n = 0, capacity = 0, at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run)) {
        const struct meta *meta = pod_run_pod(run)->meta;
        const struct object *pod = informer_find(p->informer, meta->namespace, meta->name);

        if (pod != NULL && strcmp(pod->meta->uid, meta->uid) == 0)
            continue;
        xgrow(gone, n, capacity);
        gone[n++] = run;
    }
    for (size_t i = 0; i < n; i++) {
        forget(p, gone[i]);
    }
    free(gone);
    forget_over(p);
    remove_unknown_dirs(p);
}

static void
resume_record(const char *uid, const char *text, size_t length, void *context)
{
    struct pods *p = context;
    const struct object *pod;
    struct error err = {0};

    if (object_parse(&pod_kind, text, length, &pod, &err) < 0) {
        log_warning("the files of pod '%s' cannot be read: %s, ignoring", uid, err.text);
        return;
    }
    pod_run_resume(pods_add_run(p, pod));
    object_unref(pod);
}

static void
visit_runs(void (*each)(const struct pod_run *run, void *arg), void *arg, void *context)
{
    const struct pods *p = context;
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        each(run, arg);
}

struct pods *
pods_new(const struct agent_context *agent, void (*left)(void *context), void *context)
{
    struct pods *p = xnew(struct pods);

    p->agent = agent;
    p->blobs = blobs_new(agent->client);
    p->group_nodes = group_nodes_new(agent->client);
    p->pod_mounts = pod_mounts_new(agent->client);
    p->shared_pool = shared_pool_new(agent, visit_runs, p);
    p->runs = map_new();
    p->over = map_new();
    p->forgotten = map_new();
    p->dropped = map_new();
    p->known_again = map_new();
    p->ends = end_records_open(agent->state_dir);
    p->arrival_timer = timer_new(agent->loop, pods_check_arrivals, p);
    p->left = left;
    p->context = context;
    return p;
}

void
pods_resume(struct pods *p)
{
    pod_host_visit_records(p->agent, resume_record, p);
}

void
pods_start(struct pods *p)
{
    CLEANUP_FREE char *selector = xasprintf("spec.nodeName=%s", p->agent->node);

    p->informer = informer_new(&(struct informer_settings){
        .client = p->agent->client,
        .kind = &pod_kind,
        .field_selector = selector,
        .changed = on_change,
        .synced = on_synced,
        .interrupted = on_interrupted,
        .context = p,
    });
}

void
pods_free(struct pods *p)
{
    size_t at = 0;
    void *run;

    if (p == NULL)
        return;
    informer_free(p->informer);
    while (map_next(p->runs, &at, NULL, &run))
        pod_run_free(run);
    map_free(p->runs);
    map_free(p->over);
    map_free(p->forgotten);
    map_free(p->dropped);
    map_free(p->known_again);
    end_records_free(p->ends);
    timer_free(p->arrival_timer);
    shared_pool_free(p->shared_pool);
    blobs_free(p->blobs);
    group_nodes_free(p->group_nodes);
    pod_mounts_free(p->pod_mounts);
    free(p);
}

void
pods_note_heard(struct pods *p, int64_t heard_us)
{
    CLEANUP_FREE char *path = xasprintf(AGENT_CONTEXT_HEARD, p->agent->run_dir);
    struct error err = {0};

    if (fence_note(path, heard_us, &err) < 0)
        log_warning("%s; pods with fenceAfterSeconds may end", err.text);
}

void
pods_retry_soon(struct pods *p, int64_t within_ms)
{
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        pod_run_report_now(run);
    if (p->informer != NULL)
        informer_retry_now(p->informer, within_ms);
}

void
pods_note_topology(struct pods *p)
{
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        pod_run_recheck(run);
    shared_pool_update(p->shared_pool);
}

bool
pods_confirm_gone(struct pods *p, const char *uid)
{
    const struct pod_run *run = map_find(p->runs, uid);

    if (run != NULL && pod_run_holds_cores(run))
        return map_find(p->known_again, uid) != NULL;
    if (run == NULL)
        map_put(p->over, uid, p);
    return true;
}

const struct object *
pods_find(const struct pods *p, const char *namespace, const char *name)
{
    return p->informer != NULL ? informer_find(p->informer, namespace, name) : NULL;
}

size_t
pods_count_running(const struct pods *p)
{
    size_t n = 0, at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        n += pod_run_holds_cores(run);
    return n;
}

void
pods_visit_running(const struct pods *p, pods_visit_fn *visit, void *context)
{
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run)) {
        struct running_pod running;

        if (pod_run_get_running(run, &running))
            visit(&running, context);
    }
}
