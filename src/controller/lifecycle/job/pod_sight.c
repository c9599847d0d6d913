/* SPDX-License-Identifier: Apache-2.0 */
/* pod_sight.c - counts of a Job change by the difference of two sights, so that no
 * event walks the Job's pods
 */
#include "controller/lifecycle/job/pod_sight.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

static bool
is_condition(const struct pod *pod, const char *type)
{
    const struct pod_condition *c = pod_find_condition(pod, type);

    return c != NULL && strcmp(c->status, "True") == 0;
}

static bool
is_asked_to_end(const struct pod *pod)
{
    return pod->meta.deleted_at_us != 0 && !pod_is_finished(pod);
}

static bool
is_early(const struct job *job, const struct pod *pod)
{
    const char *policy = job->spec.pod_replacement_policy;
    const char *phase = pod->status.phase;

    return is_asked_to_end(pod) && !job_is_array(job) && job_gang_size(job) == 0 && policy != NULL
           && strcmp(policy, "TerminatingOrFailed") == 0
           && (phase == NULL || strcmp(phase, "Unknown") != 0);
}

static unsigned
live_sight_of(const struct pod *pod)
{
    const char *phase = pod->status.phase != NULL ? pod->status.phase : "";
    unsigned sight = SEEN_LIVE;

    if (is_condition(pod, "Ready"))
        sight |= SEEN_READY;
    if (pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0')
        sight |= SEEN_PLACED;
    else if (string_map_find(&pod->meta.annotations, ANNOTATION_HOLD) != NULL)
        sight |= SEEN_HELD;
    if (sight & SEEN_PLACED && string_map_find(&pod->meta.annotations, ANNOTATION_FREEZE) != NULL)
        sight |= SEEN_TO_FREEZE;
    if (strcmp(phase, "Running") == 0 && pod_is_ending(pod))
        sight |= SEEN_RUNNING | SEEN_OVER;
    else if (strcmp(phase, "Running") == 0)
        sight |= pod_is_frozen(pod) ? SEEN_RUNNING | SEEN_FROZEN : SEEN_RUNNING;
    if (strcmp(phase, "Unknown") == 0)
        sight |= SEEN_SILENT;
    return sight;
}

unsigned
pod_sight_of(const struct job *job, const struct pod *pod)
{
    unsigned sight = SEEN;

    if (pod->meta.deleted_at_us != 0)
        sight |= SEEN_DELETING;
    if (pod_is_finished(pod))
        return sight | SEEN_ENDED;
    if (!is_early(job, pod))
        sight |= SEEN_ACTIVE;
    if (is_asked_to_end(pod))
        return sight | SEEN_ENDING;
    return sight | live_sight_of(pod);
}

int
pod_sight_change(unsigned was, unsigned is, unsigned what)
{
    return ((is & what) != 0) - ((was & what) != 0);
}

void
pod_sight_note_yield(char **yields_to, const struct pod *pod, unsigned sight, bool is_one_frozen)
{
    const char *to =
        (sight & SEEN_FROZEN) != 0 && pod_has_yielded(pod) ? pod_find_yield(pod) : NULL;

    if (to == NULL && (*yields_to == NULL || is_one_frozen))
        return;
    if (*yields_to != NULL && to != NULL && strcmp(*yields_to, to) == 0)
        return;
    free(*yields_to);
    *yields_to = to != NULL ? xstrdup(to) : NULL;
}

bool
pod_sight_became(const struct object_cache *cache, const struct object *pod)
{
    const struct object *now =
        object_cache_find(cache, &pod_kind, pod->meta->namespace, pod->meta->name);
    const struct owner_reference *is = now != NULL ? meta_controller(now->meta) : NULL;
    const struct owner_reference *was = meta_controller(pod->meta);
    const char *node = pod_of(pod)->spec.node_name;

    return is != NULL && was != NULL && strcmp(is->uid, was->uid) == 0
           && strcmp(now->meta->uid, pod->meta->uid) != 0 && (node == NULL || node[0] == '\0')
           && pod->meta->deleted_at_us == 0 && !pod_is_finished(pod_of(pod));
}
