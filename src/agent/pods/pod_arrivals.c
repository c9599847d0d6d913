/* SPDX-License-Identifier: Apache-2.0 */
/* pod_arrivals.c - which pods hold what here: pods whose cores another pod may
 * still hold, and the list of pods for a controller whose store may have lost
 * their bindings
 */
#include "agent/pods/pods_state.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/blobs.h"
#include "agent/pods/files/pod_ends.h"
#include "agent/pods/pod_host.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/pods.h"
#include "agent/pods/shared_pool.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_group.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/event_recorder.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"

#define AFTER_OTHERS_MS 5000

/* The pod may overlap a frozen pod that yields its cores. */
static int
check_beside(const struct pod_run *there, const struct allocation *wanted, struct error *err)
{
    const struct allocation *a = pod_of(pod_run_pod(there))->status.allocation;

    return pod_run_has_yielded(there) ? allocation_check_beside(wanted, a, err)
                                      : allocation_check_disjoint(a, wanted, err);
}

bool
pods_has_lent(const struct pod_run *run, void *context)
{
    const struct pods *p = context;
    const struct allocation *own = pod_of(pod_run_pod(run))->status.allocation;
    size_t at = 0;
    void *other;

    while (own != NULL && map_next(p->runs, &at, NULL, &other)) {
        const struct allocation *a = pod_of(pod_run_pod(other))->status.allocation;

        if (other != run && a != NULL && pod_run_holds_cores(other) && !pod_run_is_waiting(other)
            && !pod_run_has_yielded(other) && allocation_check_disjoint(a, own, NULL) < 0)
            return true;
    }
    return false;
}

/* Returns the run whose cores or devices the pod's allocation overlaps. Runs
 * that wait for their cores hold none yet.
 */
const struct pod_run *
pods_find_overlap(const struct pods *p, const struct object *pod, struct error *err)
{
    const struct allocation *wanted = pod_of(pod)->status.allocation;
    size_t at = 0;
    void *other;

    while (map_next(p->runs, &at, NULL, &other)) {
        const struct object *there = pod_run_pod(other);

        if (pod_of(there)->status.allocation != NULL && pod_run_holds_cores(other)
            && !pod_run_is_waiting(other) && check_beside(other, wanted, err) < 0)
            return other;
    }
    return NULL;
}

/* Whether the run will soon release its cores. The API gives cores to a pod
 * when their holder has ended there; a part of that holder may still be here,
 * for example after a restart of the agent, and then the new pod waits. It does
 * not wait for a pod that the API considers running, nor for an unkillable one,
 * which may remain for days: then the new pod is tried elsewhere. A pod that
 * yields its cores will be frozen in a moment.
 */
static bool
is_leaving(const struct pods *p, const struct pod_run *run)
{
    const struct object *known = pods_find_known(p, pod_run_pod(run));

    if (pod_run_is_unkillable(run))
        return false;
    return known == NULL || pod_is_finished(pod_of(known)) || pod_find_yield(pod_of(known)) != NULL
           || known->meta->deleted_at_us != 0 || pod_run_is_forgotten(run);
}

static void
refuse_overlap(struct pod_run *run, const struct pod_run *other, const struct error *err)
{
    char *text =
        xasprintf("its allocation overlaps that of pod '%s/%s' here: %s",
                  pod_run_pod(other)->meta->namespace, pod_run_pod(other)->meta->name, err->text);

    pod_run_refuse(run, REASON_ALLOCATION_OVERLAP, text);
    free(text);
}

static void
announce_waiting(const struct pods *p, const struct pod_run *run, const struct pod_run *other,
                 const struct error *err)
{
    const struct object *pod = pod_run_pod(run);
    CLEANUP_FREE char *text =
        xasprintf("waits until the remaining processes of pod '%s/%s' here "
                  "are gone: %s",
                  pod_run_pod(other)->meta->namespace, pod_run_pod(other)->meta->name, err->text);

    log_info("pod '%s/%s' %s", pod->meta->namespace, pod->meta->name, text);
    event_recorder_record(p->agent->event_recorder, pod, RECORD_NORMAL, EVENT_WAITING_FOR_CORES,
                          text);
}

static void
check_arrival(struct pods *p, struct pod_run *run)
{
    struct error err = {0};
    const struct pod_run *other = pods_find_overlap(p, pod_run_pod(run), &err);

    if (other == NULL)
        pod_run_resume(run);
    else if (is_leaving(p, other))
        announce_waiting(p, run, other, &err);
    else
        refuse_overlap(run, other, &err);
}

/* Checks the waiting runs again. */
void
pods_check_arrivals(void *context)
{
    struct pods *p = context;
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        if (pod_run_is_waiting(run))
            check_arrival(p, run);
}

/* Also a pod whose end is not reported yet. A pod that the API has finished or
 * is deleting is none: the store knows it.
 */
struct json *
pods_list_held(const struct pods *p, struct arena *arena)
{
    struct json *list = json_array(arena);
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run)) {
        const struct object *pod = pod_run_pod(run);
        struct json *item;

        if (pod_run_is_forgotten(run) || pod_is_finished(pod_of(pod))
            || pod->meta->deleted_at_us != 0)
            continue;
        item = pod_ends_describe(arena, pod);
        if (item != NULL)
            json_append(arena, list, item);
    }
    return list;
}

/* The live record may say more than this agent has read of it. */
int
pods_find_running(const struct pods *p, const char *uid, struct running_pod *ret_running)
{
    struct pod_run *run = map_find(p->runs, uid);

    if (run == NULL || pod_run_has_ended(run))
        return -ENOENT;
    pod_run_poll(run);
    *ret_running = (struct running_pod){.pod = pod_run_pod(run)};
    return pod_run_is_starting(run) ? 0 : pod_run_get_running(run, ret_running) ? 1 : -ENOENT;
}

bool
pods_has(const struct pods *p, const char *uid)
{
    return map_find(p->runs, uid) != NULL;
}

const struct object *
pods_get(const struct pods *p, const char *uid)
{
    const struct pod_run *run = map_find(p->runs, uid);

    return run != NULL ? pod_run_pod(run) : NULL;
}

/* A node has at most one pod of a group of a job of several nodes, and few pods. */
const char *
pods_find_of_group(const struct pods *p, const char *group)
{
    const char *slash = strchr(group, '/');
    const char *uid;
    size_t at = 0;
    void *value;

    while (slash != NULL && map_next(p->runs, &at, &uid, &value)) {
        const struct pod_run *run = value;
        const struct object *pod = pod_run_pod(run);
        const char *own = !pod_run_has_ended(run) ? pod_group_named_by(pod) : NULL;

        if (own != NULL && strcmp(own, slash + 1) == 0
            && strlen(pod->meta->namespace) == (size_t)(slash - group)
            && strncmp(pod->meta->namespace, group, (size_t)(slash - group)) == 0)
            return uid;
    }
    return NULL;
}

bool
pods_has_of_user(const struct pods *p, uid_t user)
{
    size_t at = 0;
    void *value;

    while (map_next(p->runs, &at, NULL, &value)) {
        const struct object *pod = pod_run_pod(value);
        const struct security_context *who = pod_of(pod)->spec.security_context;

        if (who != NULL && who->run_as_user != NULL && *who->run_as_user == (int64_t)user)
            return true;
    }
    return false;
}

struct json *
pods_list_ended(const struct pods *p, struct arena *arena, pods_is_lost_fn *is_lost, void *context)
{
    return pod_ends_list(p->ends, arena, is_lost, context);
}

bool
pods_holds_revision(const struct pods *p, int64_t after, int64_t before)
{
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run)) {
        int64_t revision = pod_run_pod(run)->revision;

        if (revision > after && revision < before)
            return true;
    }
    return false;
}

void
pods_visit_retained(const struct pods *p, void (*visit)(const struct object *pod, void *context),
                    void *context)
{
    size_t at = 0;
    void *run;

    while (map_next(p->runs, &at, NULL, &run))
        if (pod_run_is_retained(run))
            visit(pod_run_pod(run), context);
}

/* ---- Pods that were here before ---- */

/* The API has the pod again: its store is the one that had it, or the pod was made
 * anew for the one that is here.
 */
void
pods_note_known(struct pods *p, struct pod_run *run)
{
    if (!pod_run_is_orphan(run))
        return;
    log_info("the API has pod '%s/%s' again, which is no longer an orphan",
             pod_run_pod(run)->meta->namespace, pod_run_pod(run)->meta->name);
    pod_run_set_orphan(run, false);
    map_put(p->known_again, pod_run_uid(run), p);
    p->left(p->context);
}

/* The pod has ended here before, which the API's store has lost. If it was told to
 * end, the reason may be how another pod of the job ended on another node: that is
 * known first, so that a gang that has completed does not fail by the ends that
 * followed.
 */
bool
pods_repeat_end(struct pods *p, const struct object *pod)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    bool was_deleted;
    const struct json *report = pod_ends_find(p->ends, arena, pod->meta->uid, &was_deleted);

    if (report == NULL)
        return false;
    log_info("pod '%s/%s' has ended here before, reporting its end again", pod->meta->namespace,
             pod->meta->name);
    pod_run_repeat_end(pods_add_run(p, pod), report, was_deleted ? AFTER_OTHERS_MS : 0);
    return true;
}
