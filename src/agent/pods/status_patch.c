/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/status_patch.h"

#include <string.h>

#include "agent/pods/files/gpu_use.h"
#include "agent/pods/observation.h"
#include "agent/shepherd/files/exit_record.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define CONDITION_BROKEN "AllocationBroken"

static void
set_time(struct arena *arena, struct json *o, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return;
    time_format(us, false, text);
    json_set_string(arena, o, name, text);
}

static void
set_text(struct arena *arena, struct json *o, const char *name, const char *text)
{
    if (text != NULL && *text != '\0')
        json_set_string(arena, o, name, text);
}

static struct json *
begin(struct arena *arena, const struct object *pod, struct json **ret_status)
{
    struct json *body = json_object(arena);

    json_set_string(arena, json_make_object(arena, body, "metadata"), "uid", pod->meta->uid);
    *ret_status = json_make_object(arena, body, "status");
    return body;
}

/* ---- Conditions ---- */

static void
add_condition(struct arena *arena, struct json *list, const struct pod *pod, const char *type,
              bool is_true, const char *reason, const char *message, int64_t now_us)
{
    const struct pod_condition *old = pod_find_condition(pod, type);
    const char *status = is_true ? "True" : "False";
    struct json *c = json_object(arena);
    bool same = old != NULL && strcmp(old->status, status) == 0;

    json_set_string(arena, c, "type", type);
    json_set_string(arena, c, "status", status);
    set_time(arena, c, "lastTransitionTime", same ? old->last_transition_at_us : now_us);
    set_text(arena, c, "reason", reason);
    set_text(arena, c, "message", message);
    json_append(arena, list, c);
}

/* Adds the condition when there is a fault, and when a former fault is gone. */
static void
add_broken(struct arena *arena, struct json *list, const struct pod *pod,
           const struct allocation_fault *broken, int64_t now_us)
{
    if (broken->reason != NULL)
        add_condition(arena, list, pod, CONDITION_BROKEN, true, broken->reason, broken->message,
                      now_us);
    else if (pod_find_condition(pod, CONDITION_BROKEN) != NULL)
        add_condition(arena, list, pod, CONDITION_BROKEN, false, REASON_AS_ALLOCATED, "", now_us);
}

static void
add_frozen(struct arena *arena, struct json *list, const struct pod *pod,
           const struct frozen_state *frozen, int64_t now_us)
{
    const char *by = frozen->by, *to = frozen->yields_to;

    if (frozen->at_us != 0)
        add_condition(arena, list, pod, CONDITION_FROZEN, true,
                      to != NULL ? REASON_YIELDED : REASON_SUSPENDED,
                      by != NULL   ? arena_printf(arena, "suspended by %.100s", by)
                      : to != NULL ? arena_printf(arena, "suspended for %.100s", to)
                                   : "",
                      frozen->at_us);
    else if (frozen->is_refused)
        add_condition(arena, list, pod, CONDITION_FROZEN, false, REASON_CANNOT_SUSPEND,
                      "it was started by an earlier release", now_us);
    else if (frozen->before_us > 0 || pod_find_condition(pod, CONDITION_FROZEN) != NULL)
        add_condition(arena, list, pod, CONDITION_FROZEN, false, REASON_RESUMED, "", now_us);
}

/* Only the agent's own conditions: a strategic merge patch keeps those of
 * others, also one that was written after we last saw the pod.
 */
static struct json *
make_conditions(struct arena *arena, const struct pod *pod, bool ready, const char *reason,
                int64_t now_us)
{
    struct json *list = json_array(arena);

    add_condition(arena, list, pod, "Initialized", true, NULL, "", now_us);
    add_condition(arena, list, pod, "ContainersReady", ready, reason, "", now_us);
    add_condition(arena, list, pod, "Ready", ready, reason, "", now_us);
    return list;
}

/* ---- The container ---- */

static struct json *
make_container_list(struct arena *arena, const struct pod *pod, bool running,
                    const char *state_name, struct json *state)
{
    struct json *list = json_array(arena);
    struct json *c = json_object(arena);
    const struct container *spec = &pod->spec.containers.items[0];

    json_set_string(arena, c, "name", pod->spec.containers.count > 0 ? spec->name : "main");
    json_set(arena, json_make_object(arena, c, "state"), state_name, state);
    json_make_object(arena, c, "lastState");
    json_set_bool(arena, c, "ready", running);
    json_set_int(arena, c, "restartCount", 0);
    json_set_string(arena, c, "image",
                    pod->spec.containers.count > 0 && spec->image != NULL ? spec->image : "host");
    json_set_string(arena, c, "imageID", "");
    json_set_bool(arena, c, "started", running);
    json_append(arena, list, c);
    return list;
}

static void
set_observed(struct arena *arena, struct json *status, const char *cpus, const char *memory_nodes,
             const char *boot_id)
{
    struct json *o = json_make_object(arena, status, "observed");

    set_text(arena, o, "cpus", cpus);
    set_text(arena, o, "memoryNodes", memory_nodes);
    set_text(arena, o, "nodeBootID", boot_id);
}

static void
set_list(struct arena *arena, struct json *o, const char *name, const struct bitset *set)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    cpuset_format(set, &text);
    set_text(arena, o, name, text.text);
}

static void
set_seen(struct arena *arena, struct json *status, const struct observation *seen, int64_t at_us)
{
    struct json *o = json_make_object(arena, status, "observed");
    int percent = observation_percent(seen);

    set_list(arena, o, "cpus", &seen->cpus);
    set_list(arena, o, "memoryNodes", &seen->memory_nodes);
    if (percent >= 0)
        json_set_int(arena, o, "localMemoryPercent", percent);
    json_set_int(arena, o, "processes", seen->processes);
    set_time(arena, o, "at", at_us);
}

static void
set_host(struct arena *arena, struct json *status, const char *address)
{
    if (address == NULL)
        return;
    json_set_string(arena, status, "hostIP", address);
}

/* Clears a reason that the controller may have set meanwhile because the node
 * was lost: the agent's report shows that the pod was not.
 */
static void
clear_reason(struct arena *arena, struct json *status)
{
    json_set(arena, status, "reason", json_null(arena));
    json_set(arena, status, "message", json_null(arena));
}

/* The API may have the time that a former agent reported. */
static void
set_ending(struct arena *arena, struct json *status, const struct pod *pod,
           const struct ending_state *ending)
{
    struct json *o;

    if (ending->reason == NULL || pod->status.ending != NULL)
        return;
    o = json_make_object(arena, status, "ending");
    json_set_string(arena, o, "reason", ending->reason);
    set_time(arena, o, "since", ending->since_us);
}

struct json *
status_patch_make_running(struct arena *arena, const struct object *object,
                          const struct status_patch_running *r)
{
    const struct pod *pod = pod_of(object);
    struct json *status;
    struct json *body = begin(arena, object, &status);
    struct json *state = json_object(arena);
    struct json *list = make_conditions(arena, pod, true, NULL, r->started_at_us);

    add_broken(arena, list, pod, &r->broken, r->now_us);
    add_frozen(arena, list, pod, &r->frozen, r->now_us);
    if (r->frozen.before_us > 0)
        json_set_int(arena, status, "frozenMicroseconds", r->frozen.before_us);
    set_ending(arena, status, pod, &r->ending);
    json_set_string(arena, status, "phase", "Running");
    clear_reason(arena, status);
    set_time(arena, status, "startTime", r->started_at_us);
    json_set(arena, status, "conditions", list);
    set_time(arena, state, "startedAt", r->started_at_us);
    json_set(arena, status, "containerStatuses",
             make_container_list(arena, pod, true, "running", state));
    set_host(arena, status, r->host_address);
    set_observed(arena, status, r->cpus, r->memory_nodes, r->boot_id);
    if (r->seen != NULL)
        set_seen(arena, status, r->seen, r->seen_at_us);
    return body;
}

static void
set_waiting(struct arena *arena, struct json *status, const struct pod *pod, const char *reason,
            const char *message)
{
    struct json *state = json_object(arena);

    json_set_string(arena, state, "reason", reason);
    json_set_string(arena, state, "message", message);
    json_set(arena, status, "containerStatuses",
             make_container_list(arena, pod, false, "waiting", state));
}

struct json *
status_patch_make_waiting(struct arena *arena, const struct object *object, const char *for_what)
{
    struct json *status;
    struct json *body = begin(arena, object, &status);

    set_waiting(arena, status, pod_of(object), REASON_START_BLOCKED,
                arena_printf(arena, "it waits for its %s", for_what != NULL ? for_what : "start"));
    return body;
}

struct json *
status_patch_make_prepared(struct arena *arena, const struct object *object, int64_t now_us)
{
    struct json *status;
    struct json *body = begin(arena, object, &status);
    struct json *list = json_array(arena);

    add_condition(arena, list, pod_of(object), CONDITION_PREPARED, true, "", "", now_us);
    json_set(arena, status, "conditions", list);
    set_waiting(arena, status, pod_of(object), REASON_WAITS_FOR_GANG,
                "it is prepared, and waits for the other pods of its gang");
    return body;
}

/* ---- The end ---- */

static const char *
find_reason(const struct exit_record *e)
{
    if (e == NULL)
        return REASON_ERROR;
    if (e->was_oom)
        return REASON_OOM_KILLED;
    if (e->failed_step != NULL && strcmp(e->failed_step, EXIT_RECORD_PROLOG) == 0)
        return REASON_PROLOG_FAILED;
    if (e->failed_step != NULL && strcmp(e->failed_step, EXIT_RECORD_CALLED_OFF) == 0)
        return REASON_CALLED_OFF;
    if (e->failed_step != NULL)
        return REASON_START_ERROR;
    if (e->was_ended && e->signal == 0 && e->exit_code < 128)
        return REASON_TERMINATED;
    return e->exit_code == 0 && e->signal == 0 ? REASON_COMPLETED : REASON_ERROR;
}

/* The pod was ended before its job had started. A job that could not be started has the
 * time of the attempt.
 */
static bool
was_called_off(const struct exit_record *e)
{
    return e != NULL && e->started_at_us == 0 && e->failed_step != NULL
           && strcmp(e->failed_step, EXIT_RECORD_CALLED_OFF) == 0;
}

/* The shepherd tells the time of an end even if nothing was started; such a pod has started at its
 * end, not when the agent has read of it, which is later.
 */
static int64_t
find_end(const struct status_patch_end *end)
{
    const struct exit_record *e = end->exit_record;

    return e != NULL && e->ended_at_us != 0 ? e->ended_at_us : end->now_us;
}

static int64_t
find_start(const struct status_patch_end *end)
{
    const struct exit_record *e = end->exit_record;

    return e != NULL && e->started_at_us != 0 ? e->started_at_us : find_end(end);
}

static struct json *
make_terminated(struct arena *arena, const struct status_patch_end *end)
{
    struct json *t = json_object(arena);
    const struct exit_record *e = end->exit_record;
    const char *message = end->message;

    json_set_int(arena, t, "exitCode", e != NULL ? e->exit_code : 137);
    if (e != NULL && e->signal != 0)
        json_set_int(arena, t, "signal", e->signal);
    json_set_string(arena, t, "reason", end->reason != NULL ? end->reason : find_reason(e));
    if (message == NULL && e != NULL)
        message = e->message;
    set_text(arena, t, "message", message);
    if (!was_called_off(e))
        set_time(arena, t, "startedAt", find_start(end));
    set_time(arena, t, "finishedAt", find_end(end));
    return t;
}

static void
set_usage(struct arena *arena, struct json *status, const struct exit_record *e,
          const struct gpu_use *gpus)
{
    struct json *u = json_make_object(arena, status, "usage");

    json_set_int(arena, u, "peakMemoryBytes", e->peak_memory_bytes);
    if (e->has_rss) {
        json_set_int(arena, u, "rssBytes", e->rss_bytes);
        json_set_int(arena, u, "cacheBytes", e->cache_bytes);
    }
    json_set_int(arena, u, "userCpuMicroseconds", e->cpu_user_us);
    json_set_int(arena, u, "systemCpuMicroseconds", e->cpu_system_us);
    if (gpus != NULL && gpus->samples > 0) {
        json_set_int(arena, u, "gpus", gpus->count);
        json_set_int(arena, u, "gpuMillis", gpu_use_mean_milli(gpus));
        json_set_int(arena, u, "gpuPeakMemoryBytes", gpus->peak_bytes);
        json_set_int(arena, u, "gpuMemoryBytes", gpus->total_bytes);
    }
    if (!e->has_io)
        return;
    json_set_int(arena, u, "readBytes", e->read_bytes);
    json_set_int(arena, u, "writtenBytes", e->written_bytes);
}

/* A pod that was ended has not succeeded, whatever its exit code: a job that
 * saves its state on SIGTERM usually exits with 0, and its work is not done.
 */
static bool
has_succeeded(const struct status_patch_end *end)
{
    const struct exit_record *e = end->exit_record;

    return e != NULL && end->reason == NULL && e->exit_code == 0 && e->signal == 0
           && e->failed_step == NULL && !e->was_oom && !e->was_ended;
}

/* Adds the present freeze, which ends with the pod. An agent that was started after
 * an earlier one had cleaned up knows the time from the exit record alone.
 */
static int64_t
count_frozen(const struct frozen_state *frozen, const struct exit_record *e, int64_t ended_us)
{
    if (e != NULL && e->frozen_us > 0)
        return e->frozen_us;
    return frozen->at_us != 0 && ended_us > frozen->at_us
               ? frozen->before_us + ended_us - frozen->at_us
               : frozen->before_us;
}

struct json *
status_patch_make_end(struct arena *arena, const struct object *object,
                      const struct status_patch_end *end)
{
    const struct pod *pod = pod_of(object);
    const struct exit_record *e = end->exit_record;
    struct json *status;
    struct json *body = begin(arena, object, &status);
    bool succeeded = has_succeeded(end);
    int64_t ended_us = e != NULL && e->ended_at_us != 0 ? e->ended_at_us : end->now_us;
    int64_t frozen_us = count_frozen(&end->frozen, e, ended_us);
    struct json *list = make_conditions(
        arena, pod, false, succeeded ? REASON_POD_COMPLETED : REASON_POD_FAILED, ended_us);

    /* The preemptor has set this condition already. */
    if (end->is_disruption && pod_find_condition(pod, "DisruptionTarget") == NULL)
        add_condition(arena, list, pod, "DisruptionTarget", true, end->reason, "", ended_us);
    add_broken(arena, list, pod, &end->broken, ended_us);
    json_set_string(arena, status, "phase", succeeded ? "Succeeded" : "Failed");
    if (end->was_ending || pod->status.ending != NULL)
        json_set(arena, status, "ending", json_null(arena));
    clear_reason(arena, status);
    if (end->reason != NULL)
        json_set_string(arena, status, "reason", end->reason);
    if (end->message != NULL)
        json_set_string(arena, status, "message", end->message);
    else if (e != NULL && e->message != NULL)
        json_set_string(arena, status, "message", e->message);
    if (pod->status.start_at_us == 0)
        set_time(arena, status, "startTime", find_start(end));
    json_set(arena, status, "conditions", list);
    json_set(arena, status, "containerStatuses",
             make_container_list(arena, pod, false, "terminated", make_terminated(arena, end)));
    set_host(arena, status, end->host_address);
    if (e != NULL && e->started_at_us != 0) {
        set_observed(arena, status, e->cpus_allowed, e->memory_allowed, e->boot_id);
        if (!succeeded && e->had_own_end && end->reason == NULL && !e->was_oom)
            json_set_bool(arena, json_get(status, "observed"), "ownEnd", true);
        if (end->seen != NULL)
            set_seen(arena, status, end->seen, end->seen_at_us);
        if (frozen_us > 0)
            json_set_int(arena, status, "frozenMicroseconds", frozen_us);
        set_usage(arena, status, e, end->gpu_use);
    }
    return body;
}
