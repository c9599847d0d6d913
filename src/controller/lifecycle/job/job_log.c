/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/log.h"

static bool
is_phase(const struct object *pod, const char *phase)
{
    return pod != NULL && pod_of(pod)->status.phase != NULL
           && strcmp(pod_of(pod)->status.phase, phase) == 0;
}

static const char *
user_of(const struct meta *meta)
{
    const char *user = string_map_find(&meta->annotations, ANNOTATION_USER);

    return user != NULL ? user : "?";
}

static const char *
text_or(const char *text, const char *other)
{
    return text != NULL && *text != '\0' ? text : other;
}

static void
log_start(const struct pod *pod)
{
    const struct allocation *a = pod->status.allocation;

    log_info("pod '%s/%s' of user '%s' runs on node '%s', CPUs %s", pod->meta.namespace,
             pod->meta.name, user_of(&pod->meta), text_or(pod->spec.node_name, "?"),
             a != NULL ? text_or(a->cpus, "shared") : "?");
}

/* For example "exit code 1", "signal 9" or "not started". */
static void
log_end(const struct pod *pod)
{
    struct container_state state = {0};
    bool has_state = pod_main_state(pod, &state) && state.terminated;
    int64_t ran_us = state.finished_at_us - state.started_at_us;
    char how[64] = "not started";

    if (has_state && state.signal > 0)
        snprintf(how, sizeof(how), "signal %" PRId64, state.signal);
    else if (has_state)
        snprintf(how, sizeof(how), "exit code %" PRId64, state.exit_code);
    log_info("pod '%s/%s' of user '%s' has ended on node '%s': %s, %s, after "
             "%" PRId64 " s",
             pod->meta.namespace, pod->meta.name, user_of(&pod->meta),
             text_or(pod->spec.node_name, "none"),
             text_or(pod->status.reason, text_or(state.reason, pod->status.phase)), how,
             has_state && state.started_at_us > 0 && ran_us > 0 ? ran_us / 1000000 : 0);
}

void
job_log_pod(const struct object *old_pod, const struct object *new_pod)
{
    if (new_pod == NULL)
        return;
    if (is_phase(new_pod, "Running") && !is_phase(old_pod, "Running")
        && !is_phase(old_pod, "Unknown"))
        log_start(pod_of(new_pod));
    else if (pod_is_finished(pod_of(new_pod))
             && (old_pod == NULL || !pod_is_finished(pod_of(old_pod))))
        log_end(pod_of(new_pod));
}

void
job_log_job(const struct object *old_job, const struct object *new_job)
{
    const struct job_condition *c;
    const struct job *job;

    if (old_job == NULL || new_job == NULL || job_is_finished(job_of(old_job))
        || !job_is_finished(job_of(new_job)))
        return;
    job = job_of(new_job);
    c = job_find_condition(job, "Failed");
    log_info("job '%s/%s' of user '%s' %s%s%s%s", job->meta.namespace, job->meta.name,
             user_of(&job->meta), c != NULL ? "has failed: " : "is complete",
             c != NULL ? text_or(c->reason, "?") : "", c != NULL ? ", " : "",
             c != NULL ? text_or(c->message, "") : "");
}
