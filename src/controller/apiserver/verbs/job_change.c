/* SPDX-License-Identifier: Apache-2.0 */
/* The words "hold" and "requeue" stand for patches that users could write themselves; they are
 * made here, once, for kctl, Slurm's commands and clients of the API. Where a change depends
 * on what the job does at the moment, it is read from the pods, because the status is written
 * a little later.
 */
#include "controller/apiserver/verbs/job_change.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/marks/job_signals.h"
#include "controller/apiserver/objects/job_placement.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/element_change.h"
#include "controller/apiserver/verbs/job_update_patch.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static struct json *
annotate(struct arena *arena, const char *name, const char *value)
{
    struct json *patch = json_object(arena);
    struct json *at = json_make_object(arena, patch, "metadata");

    at = json_make_object(arena, at, "annotations");
    json_set_string(arena, at, name, value);
    return patch;
}

static struct json *
make_cancel(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    c->words = "is ending already";
    if (job_find_condition(job, "FailureTarget") != NULL
        || string_map_find(&c->object->meta->annotations, ANNOTATION_CANCEL) != NULL)
        return NULL;
    c->words = "cancelled";
    return annotate(c->arena, ANNOTATION_CANCEL, c->principal->name);
}

static struct json *
make_hold(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);
    enum job_state state = job_find_state(job);

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    c->words = job_state_words(state)->class == JOB_STATE_RUNS
                   ? "held; running pods are not affected"
                   : "held";
    return annotate(c->arena, ANNOTATION_HOLD, c->principal->name);
}

/* Finds the number of pods made so far. The pods are counted, too, because the
 * Job's status is written a little later.
 */
static bool
count_attempt(const struct object *pod, void *context)
{
    int64_t *attempts = context;
    const char *suffix = strrchr(pod->meta->name, '-');
    int64_t made = 1;

    if (suffix != NULL && suffix[1] == 'r')
        made += strtoll(suffix + 2, NULL, 10);
    if (made > *attempts)
        *attempts = made;
    return true;
}

/* The value of REQUEUE_BEFORE with which the Job starts again; 0: it has not
 * started.
 */
static int64_t
find_requeue_mark(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);
    int64_t attempts = job->status.attempts;

    store_visit_index(c->server->store, &pod_kind, POD_BY_JOB, STORE_PENDING, c->object->meta->uid,
                      count_attempt, &attempts);
    if (attempts == 0)
        return 0;
    return attempts > job->status.requeued ? attempts : job->status.requeued + 1;
}

/* Also releases a Job that is held by spec.suspend, as an earlier version did.
 * A Job that the system holds because it was interrupted too often gets a new
 * count.
 */
static struct json *
make_release(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);
    struct json *patch = json_object(c->arena), *at;

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    c->words = "is not held";
    if (!job_is_held(job))
        return NULL;
    c->words = "is suspended; an operator resumes it";
    if (!job->spec.suspend && !job_is_held_for_requeues(job)
        && string_map_find(&c->object->meta->annotations, ANNOTATION_HOLD) == NULL)
        return NULL;
    c->words = "released";
    if (string_map_find(&c->object->meta->annotations, ANNOTATION_HOLD) != NULL) {
        at = json_make_object(c->arena, patch, "metadata");
        json_set(c->arena, json_make_object(c->arena, at, "annotations"), ANNOTATION_HOLD,
                 json_null(c->arena));
    }
    if (job_is_held_for_requeues(job)) {
        at = json_make_object(c->arena, patch, "metadata");
        json_set_string(c->arena, json_make_object(c->arena, at, "annotations"),
                        ANNOTATION_REQUEUE_BEFORE,
                        arena_printf(c->arena, "%" PRId64, find_requeue_mark(c)));
    }
    if (job->spec.suspend)
        json_set_bool(c->arena, json_make_object(c->arena, patch, "spec"), "suspend", false);
    return patch;
}

static struct json *
make_requeue(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);
    int64_t before;

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    c->words = "has not started yet";
    before = find_requeue_mark(c);
    if (before == 0)
        return NULL;
    c->words = "requeued";
    return annotate(c->arena, ANNOTATION_REQUEUE_BEFORE,
                    arena_printf(c->arena, "%" PRId64, before));
}

/* Both changes are one patch, so that no pod is created in between. */
static struct json *
make_requeue_and_hold(struct job_change_call *c)
{
    struct json *patch = make_requeue(c);
    struct json *at;

    if (job_is_finished(job_of(c->object)))
        return NULL;
    if (patch == NULL) {
        c->words = "held";
        return annotate(c->arena, ANNOTATION_HOLD, c->principal->name);
    }
    c->words = "requeued and held";
    at = json_make_object(c->arena, patch, "metadata");
    json_set_string(c->arena, json_make_object(c->arena, at, "annotations"), ANNOTATION_HOLD,
                    c->principal->name);
    return patch;
}

/* ---- Suspend and resume ---- */

static struct json *
make_suspend(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    c->words = "is suspended already";
    if (job_find_freezer(job) != NULL)
        return NULL;
    c->words = "does not run; 'kctl hold' keeps it from starting";
    if (job_placement_find(c->server, c->object, NULL).node == NULL)
        return NULL;
    c->words = "suspended";
    return annotate(c->arena, ANNOTATION_FREEZE, c->principal->name);
}

/* Finds the workload for which a pod of the job is suspended; stops at the
 * first.
 */
static bool
find_yielding(const struct object *pod, void *context)
{
    const char **to = context;

    *to = pod_is_finished(pod_of(pod)) ? NULL : pod_find_yield(pod_of(pod));
    return *to == NULL;
}

static const char *
explain_not_suspended(struct job_change_call *c)
{
    const char *to = NULL;

    store_visit_index(c->server->store, &pod_kind, POD_BY_JOB, STORE_PENDING, c->object->meta->uid,
                      find_yielding, &to);
    return to == NULL ? "is not suspended"
                      : arena_printf(c->arena,
                                     "is suspended for %.100s, and resumes by "
                                     "itself when its cores are free again",
                                     to);
}

static struct json *
make_resume(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);
    struct json *patch = json_object(c->arena);
    struct json *at = json_make_object(c->arena, patch, "metadata");

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    c->words = explain_not_suspended(c);
    if (job_find_freezer(job) == NULL)
        return NULL;
    c->words = "resumed";
    json_set(c->arena, json_make_object(c->arena, at, "annotations"), ANNOTATION_FREEZE,
             json_null(c->arena));
    return patch;
}

/* ---- Signal ---- */

static struct json *
refuse(struct job_change_call *c, const char *words)
{
    c->words = words;
    c->is_refused = true;
    return NULL;
}

static const char *
describe_sent(const struct job_change_call *c, const struct job_signal *signal, size_t count)
{
    const char *name = pod_signal_name(signal->signal.number);

    if (signal->signal.target == POD_SIGNAL_STEP)
        return signal->signal.number > 0
                   ? arena_printf(c->arena, "signal %s sent to step %" PRId64, name,
                                  signal->signal.step)
                   : arena_printf(c->arena, "step %" PRId64 " ends", signal->signal.step);
    return job_is_array(job_of(c->object)) ? arena_printf(c->arena, "signal %s sent to %zu task%s",
                                                          name, count, count == 1 ? "" : "s")
                                           : arena_printf(c->arena, "signal %s sent", name);
}

/* The patch only counts the requests; the pods get the signal in its transaction. */
static struct json *
make_signal(struct job_change_call *c)
{
    const struct job *job = job_of(c->object);
    const char *before = string_map_find(&c->object->meta->annotations, ANNOTATION_SIGNALS);
    /* anyone who may patch the Job may have written any number */
    const int64_t count = before != NULL ? strtoll(before, NULL, 10) % INT32_MAX + 1 : 1;
    struct job_signal *signal = arena_alloc(c->arena, sizeof(*signal));
    struct job_signal_receivers found;

    c->words = "has ended already";
    if (job_is_finished(job))
        return NULL;
    if (job_signal_read(c->update, signal, NULL) < 0)
        return refuse(c, "the signal cannot be read");
    if (c->tasks != NULL && !job_is_array(job))
        return refuse(c, "is not a job array; give only its number");
    signal->tasks = c->tasks;
    job_signal_find(c->server, c->object, signal, c->arena, &found);
    if (found.is_too_many)
        return refuse(c, arena_printf(c->arena,
                                      "one request sends a signal to at most %d pods; name fewer "
                                      "tasks at once",
                                      JOB_SIGNALS_MOST));
    if (found.old_agent != NULL)
        return refuse(c, arena_printf(c->arena,
                                      "the agent of node %s is of an earlier release, and sends no "
                                      "signals until it is upgraded",
                                      found.old_agent));
    c->words = "does not run, and only running jobs get signals";
    if (found.count == 0)
        return NULL;
    c->signal = signal;
    c->words = describe_sent(c, signal, found.count);
    return annotate(c->arena, ANNOTATION_SIGNALS, arena_printf(c->arena, "%" PRId64, count));
}

#define NOT_SUSPENDED "an array is suspended and resumed as a whole; give only its number"

static const struct job_change changes[] = {
    {"cancel", make_cancel, element_change_cancel, NULL},
    {"hold", make_hold, element_change_hold, NULL},
    {"release", make_release, element_change_release, NULL},
    {"requeue", make_requeue, element_change_requeue, NULL},
    {"requeueAndHold", make_requeue_and_hold, element_change_requeue_and_hold, NULL},
    {"resume", make_resume, NULL, NOT_SUSPENDED},
    {"signal", make_signal, make_signal, NULL},
    {"suspend", make_suspend, NULL, NOT_SUSPENDED},
    {"update", job_update_patch_make, NULL,
     "all tasks of an array have the same requests; give only its number to "
     "change them for all waiting tasks"},
};

const struct job_change *
job_change_find(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(changes); i++)
        if (strcmp(changes[i].name, name) == 0)
            return &changes[i];
    return NULL;
}
