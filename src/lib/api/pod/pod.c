/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/pod.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/pod_tables.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/rows.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#define GRACE_DEFAULT_S 30
#define GRACE_MOST_S    INT64_C(3155760000) /* a century: its end has a date */

/* clang-format off */
static const struct field pod_fields[] = {
    TYPE_META,
    METADATA(pod),
    OBJECT("spec", pod, spec, pod_spec, ALWAYS,
        HELP("Desired state.")),
    OBJECT("status", pod, status, pod_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(pod, pod, "io.k8s.api.core.v1.Pod",
       MESSAGE("metadata spec status"),
       HELP("A process of a user on a node, or one that waits for a node. "
            "In Kiln a pod has one container, and no image: it runs on "
            "the host."));
/* clang-format on */

const struct pod *
pod_of(const struct object *object)
{
    return object->view;
}

const char *
pod_spec_partition(const struct pod_spec *spec)
{
    const char *name = spec->placement != NULL ? spec->placement->partition : NULL;

    return name != NULL && name[0] != '\0' ? name
                                           : string_map_find(&spec->node_selector, LABEL_PARTITION);
}

bool
pod_spec_wants_node(const struct pod_spec *spec, const struct string_map *labels,
                    const char *node_name)
{
    const struct affinity *a = spec->affinity;
    const struct node_selector *required =
        a != NULL && a->node_affinity != NULL ? a->node_affinity->required : NULL;

    for (unsigned i = 0; i < spec->node_selector.count; i++) {
        const struct string_entry *e = &spec->node_selector.items[i];
        const char *has = string_map_find(labels, e->key);

        if (has == NULL || strcmp(has, e->value) != 0)
            return false;
    }
    return required == NULL || node_selector_matches(required, labels, node_name);
}

int64_t
pod_spec_scratch_bytes(const struct pod_spec *spec)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const struct json *claim =
            json_get_path(spec->volumes.items[i].ephemeral, "volumeClaimTemplate.spec");
        const char *class = json_get_text(claim, "storageClassName");

        if (class != NULL && strcmp(class, STORAGE_CLASS_SCRATCH) == 0)
            sum += quantity_text_value(json_path_text(claim, "resources.requests.storage"));
    }
    return sum;
}

int64_t
pod_last_transition_us(const struct pod *pod)
{
    int64_t last = 0;

    for (unsigned i = 0; i < pod->status.conditions.count; i++)
        if (pod->status.conditions.items[i].last_transition_at_us > last)
            last = pod->status.conditions.items[i].last_transition_at_us;
    return last;
}

bool
pod_is_finished(const struct pod *pod)
{
    const char *phase = pod->status.phase;

    return phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

/* The time at which the deletion was requested: the deletion time minus the
 * grace period.
 */
static int64_t
asked_at_us(const struct pod *pod)
{
    const int64_t *grace_s = pod->meta.deletion_grace_s;

    return pod->meta.deleted_at_us - (grace_s != NULL ? *grace_s : 0) * INT64_C(1000000);
}

/* Whether the agent says that the process failed by itself, before an order to end
 * reached it. Agents of former releases never say so.
 */
static bool
has_own_end(const struct pod *pod)
{
    return pod->status.observed != NULL && pod->status.observed->has_own_end
           && pod_is_finished(pod);
}

bool
pod_was_disrupted(const struct pod *pod)
{
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");

    return c != NULL && c->status != NULL && strcmp(c->status, "True") == 0 && !has_own_end(pod);
}

bool
pod_was_ended(const struct pod *pod)
{
    struct container_state state = {0};

    if (!pod_is_finished(pod))
        return true;
    if (pod->meta.deleted_at_us == 0 || strcmp(pod->status.phase, "Succeeded") == 0
        || has_own_end(pod))
        return false;
    if (!pod_main_state(pod, &state) || !state.terminated || state.signal != 0
        || state.exit_code >= 128)
        return true;
    return (state.reason != NULL
            && (strcmp(state.reason, REASON_TERMINATED) == 0
                || strcmp(state.reason, REASON_CALLED_OFF) == 0))
           || state.finished_at_us >= asked_at_us(pod);
}

const char *
pod_memory_policy(const struct pod *pod)
{
    const struct placement *p = pod->spec.placement;
    const struct allocation *a = pod->status.allocation;

    if (p != NULL && p->memory_policy != NULL)
        return p->memory_policy;
    return a != NULL && a->memory.count > 0 ? "bind" : "preferred";
}

bool
pod_is_memory_bound(const struct pod *pod)
{
    return strcmp(pod_memory_policy(pod), "preferred") != 0;
}

static bool
is_among(const char *reason, const char *const *reasons, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(reason, reasons[i]) == 0)
            return true;
    return false;
}

/* A pod of a gang that awaited its start has run nothing, whatever happened to its node.
 */
static bool
was_lost_at_barrier(const struct pod *pod, const char *reason)
{
    static const char *const reasons[] = {REASON_PROLOG_FAILED, REASON_NODE_REBOOTED,
                                          REASON_NODE_LOST,     REASON_NODE_SHUTDOWN,
                                          REASON_SHEPHERD_LOST, REASON_NOT_PREPARED};

    return pod_awaits_start(pod) && is_among(reason, reasons, ARRAY_SIZE(reasons));
}

bool
pod_was_not_started(const struct pod *pod)
{
    static const char *const reasons[] = {REASON_START_ERROR, REASON_NODE_BROKEN,
                                          REASON_ALLOCATION_OVERLAP, REASON_ALLOCATION_NOT_HERE};
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");

    if (c == NULL || strcmp(c->status, "True") != 0 || c->reason == NULL)
        return false;
    if (was_lost_at_barrier(pod, c->reason))
        return true;
    return pod->status.reason != NULL && strcmp(c->reason, pod->status.reason) == 0
           && is_among(c->reason, reasons, ARRAY_SIZE(reasons));
}

const struct pod_condition *
pod_find_condition(const struct pod *pod, const char *type)
{
    for (unsigned i = 0; i < pod->status.conditions.count; i++)
        if (strcmp(pod->status.conditions.items[i].type, type) == 0)
            return &pod->status.conditions.items[i];
    return NULL;
}

int64_t
pod_start_barrier(const struct pod *pod)
{
    const char *text = string_map_find(&pod->meta.annotations, ANNOTATION_START_BARRIER);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

bool
pod_awaits_start(const struct pod *pod)
{
    return pod_start_barrier(pod) > 0
           && string_map_find(&pod->meta.annotations, ANNOTATION_GANG_STARTED) == NULL;
}

bool
pod_is_prepared(const struct pod *pod)
{
    const struct pod_condition *c = pod_find_condition(pod, CONDITION_PREPARED);
    const char *phase = pod->status.phase;

    return (c != NULL && strcmp(c->status, "True") == 0)
           || (phase != NULL && strcmp(phase, "Running") == 0);
}

bool
pod_is_ended_by_preemption(const struct pod *pod)
{
    return pod->status.cause != NULL && pod->status.cause->is_final && pod_was_disrupted(pod);
}

bool
pod_is_ending(const struct pod *pod)
{
    return !pod_is_finished(pod) && (pod->meta.deleted_at_us != 0 || pod->status.ending != NULL);
}

bool
pod_is_frozen(const struct pod *pod)
{
    const struct pod_condition *c = pod_find_condition(pod, CONDITION_FROZEN);

    return c != NULL && strcmp(c->status, "True") == 0 && !pod_is_finished(pod);
}

bool
pod_pauses(const struct pod *pod, bool has_arguments)
{
    const struct container *c =
        pod->spec.containers.count > 0 ? &pod->spec.containers.items[0] : NULL;

    return c != NULL && c->command.count == 1 && (c->args.count > 0) == has_arguments
           && strcmp(c->command.items[0], POD_PAUSE_COMMAND) == 0;
}

const char *
pod_find_yield(const struct pod *pod)
{
    return string_map_find(&pod->meta.annotations, ANNOTATION_YIELD);
}

static bool
is_frozen_as(const struct pod *pod, const char *status, const char *reason)
{
    const struct pod_condition *c = pod_find_condition(pod, CONDITION_FROZEN);

    return c != NULL && strcmp(c->status, status) == 0 && c->reason != NULL
           && strcmp(c->reason, reason) == 0;
}

bool
pod_has_yielded(const struct pod *pod)
{
    return pod_find_yield(pod) != NULL && !pod_is_finished(pod) && pod->meta.deleted_at_us == 0
           && is_frozen_as(pod, "True", REASON_YIELDED);
}

bool
pod_is_going_on(const struct pod *pod)
{
    return pod_find_yield(pod) == NULL && pod_is_frozen(pod)
           && is_frozen_as(pod, "True", REASON_YIELDED);
}

bool
pod_cannot_freeze(const struct pod *pod)
{
    return is_frozen_as(pod, "False", REASON_CANNOT_SUSPEND);
}

/* The time until which a frozen pod was suspended; 0: its node reported its
 * end. If others ended the pod because its node did not report, it was
 * suspended until then.
 */
static int64_t
still_until_us(const struct pod *pod, int64_t now_us)
{
    struct container_state state = {0};
    int64_t end_us = 0;

    if (!pod_is_finished(pod))
        return now_us;
    if (pod_main_state(pod, &state) && state.terminated)
        return 0;
    for (unsigned i = 0; i < pod->status.conditions.count; i++)
        if (pod->status.conditions.items[i].last_transition_at_us > end_us)
            end_us = pod->status.conditions.items[i].last_transition_at_us;
    return end_us < now_us ? end_us : now_us;
}

int64_t
pod_frozen_us(const struct pod *pod, int64_t now_us)
{
    const struct pod_condition *c = pod_find_condition(pod, CONDITION_FROZEN);
    int64_t before_us = pod->status.frozen_us > 0 ? pod->status.frozen_us : 0;
    int64_t until_us;

    if (c == NULL || strcmp(c->status, "True") != 0)
        return before_us;
    until_us = still_until_us(pod, now_us);
    return until_us > c->last_transition_at_us ? before_us + until_us - c->last_transition_at_us
                                               : before_us;
}

static int64_t
time_of(const struct json *object, const char *name)
{
    const char *text = json_get_text(object, name);
    int64_t us = 0;

    if (text != NULL)
        (void)time_parse(text, &us);
    return us;
}

bool
pod_main_state(const struct pod *pod, struct container_state *ret_state)
{
    const struct json *state = json_get(json_at(pod->status.container_statuses, 0), "state");
    const struct json *waiting = json_get(state, "waiting");
    const struct json *running = json_get(state, "running");
    const struct json *terminated = json_get(state, "terminated");
    const struct json *said = terminated != NULL ? terminated : waiting;

    if (state == NULL)
        return false;
    *ret_state = (struct container_state){
        .waiting = waiting != NULL && terminated == NULL && running == NULL,
        .running = running != NULL && terminated == NULL,
        .terminated = terminated != NULL,
        .reason = json_get_text(said, "reason"),
        .message = json_get_text(said, "message"),
        .exit_code = json_get_int(terminated, "exitCode", 0),
        .signal = json_get_int(terminated, "signal", 0),
        .started_at_us = time_of(terminated != NULL ? terminated : running, "startedAt"),
        .finished_at_us = time_of(terminated, "finishedAt"),
    };
    return true;
}

static const char *
select_node_name(const struct object *object, char buffer[64])
{
    (void)buffer;
    return text_or_empty(pod_of(object)->spec.node_name);
}

static const char *
select_restart_policy(const struct object *object, char buffer[64])
{
    (void)buffer;
    return text_or_empty(pod_of(object)->spec.restart_policy);
}

static const char *
select_scheduler_name(const struct object *object, char buffer[64])
{
    (void)buffer;
    return text_or_empty(pod_of(object)->spec.scheduler_name);
}

static const char *
select_service_account(const struct object *object, char buffer[64])
{
    (void)object, (void)buffer;
    return "";
}

static const char *
select_host_network(const struct object *object, char buffer[64])
{
    (void)buffer;
    return pod_of(object)->spec.host_network ? "true" : "false";
}

static const char *
select_phase(const struct object *object, char buffer[64])
{
    (void)buffer;
    return text_or_empty(pod_of(object)->status.phase);
}

static const char *
select_pod_ip(const struct object *object, char buffer[64])
{
    (void)object, (void)buffer;
    return "";
}

static const char *
select_nominated_node(const struct object *object, char buffer[64])
{
    (void)buffer;
    return text_or_empty(pod_of(object)->status.nominated_node_name);
}

static const struct selectable_field selectable[] = {
    {"spec.nodeName", select_node_name},
    {"spec.restartPolicy", select_restart_policy},
    {"spec.schedulerName", select_scheduler_name},
    {"spec.serviceAccountName", select_service_account},
    {"spec.hostNetwork", select_host_network},
    {"status.phase", select_phase},
    {"status.podIP", select_pod_ip},
    {"status.podIPs", select_pod_ip},
    {"status.nominatedNodeName", select_nominated_node},
};

static const char *
job_uid(const struct object *object, char buffer[64])
{
    const struct owner_reference *owner = meta_controller_of(object->meta, &job_kind);

    (void)buffer;
    return owner != NULL ? owner->uid : NULL;
}

static const char *
planned_node(const struct object *object, char buffer[64])
{
    const struct pod *pod = pod_of(object);
    const struct pod_cause *cause = pod->status.cause;

    (void)buffer;
    return cause != NULL && text_or_empty(pod->spec.node_name)[0] == '\0' && cause->from_us > 0
               ? cause->node
               : NULL;
}

static const char *
live_node(const struct object *object, char buffer[64])
{
    const struct pod *pod = pod_of(object);

    (void)buffer;
    return text_or_empty(pod->spec.node_name)[0] == '\0' || pod_is_finished(pod)
               ? NULL
               : pod->spec.node_name;
}

static const char *
live_job_uid(const struct object *object, char buffer[64])
{
    return live_node(object, buffer) != NULL ? job_uid(object, buffer) : NULL;
}

static const struct kind_index indexes[] = {
    [POD_BY_NODE] = {"spec.nodeName", select_node_name},
    [POD_BY_JOB] = {NULL, job_uid},
    [POD_BY_PLAN] = {NULL, planned_node},
    [POD_LIVE_BY_NODE] = {NULL, live_node},
    [POD_LIVE_BY_JOB] = {NULL, live_job_uid},
};

/* Users own their pods; operators release and cancel those of others; an agent
 * may change those of its node. The lifecycle controllers may do everything
 * except bind.
 */
/* clang-format off */
static const struct right rights[] = {
    {BY_OPERATOR, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_OPERATOR, MAY_CREATE, SUBRESOURCE_EVICTION, SCOPE_ALL},
    {BY_OPERATOR, MAY_READ, SUBRESOURCE_WHY, SCOPE_ALL},
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_OWN},
    {BY_USERS, MAY_CREATE, SUBRESOURCE_EVICTION, SCOPE_OWN},
    {BY_USERS, MAY_CREATE, SUBRESOURCE_EXEC_GRANT, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_LOG, SCOPE_OWN},
    {BY_USERS, MAY_READ, SUBRESOURCE_WHY, SCOPE_OWN},
    {BY_AGENT, MAY_READ | MAY_DELETE, SUBRESOURCE_NONE, SCOPE_NODE},
    {BY_AGENT, MAY_READ | MAY_UPDATE, SUBRESOURCE_STATUS, SCOPE_NODE},
    {BY_SCHEDULER, MAY_CREATE, SUBRESOURCE_BINDING, SCOPE_ALL},
    {BY_SCHEDULER, MAY_CREATE, SUBRESOURCE_EVICTION, SCOPE_ALL},
    {BY_SCHEDULER, MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL}, /* yield */
    {BY_SCHEDULER, MAY_UPDATE, SUBRESOURCE_STATUS, SCOPE_ALL},
    {BY_SCHEDULER, MAY_DELETE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_LIFECYCLE, MAY_CREATE, SUBRESOURCE_BINDING, SCOPE_NONE},
};
/* clang-format on */

static const char *const operator_fields[] = {
    "metadata.annotations",
    "metadata.labels",
    "metadata.resourceVersion",
    "metadata.generation",
    "spec.priority",
    "spec.priorityClassName",
    NULL,
};

static const struct kind_subresource subresources[] = {
    {SUBRESOURCE_BINDING, MAY_CREATE},
    {SUBRESOURCE_EVICTION, MAY_CREATE},
    {SUBRESOURCE_EXEC, MAY_CREATE | MAY_GET | KILN_ONLY},
    {SUBRESOURCE_EXEC_GRANT, MAY_CREATE | KILN_ONLY},
    {SUBRESOURCE_LOG, MAY_GET},
    {SUBRESOURCE_WHY, MAY_GET | KILN_ONLY},
};

static int64_t
grace_s(const struct object *object, const int64_t *asked)
{
    const struct pod *pod = pod_of(object);
    int64_t grace_s = GRACE_DEFAULT_S;

    if (asked != NULL)
        grace_s = *asked;
    else if (pod->spec.termination_grace_seconds != NULL)
        grace_s = *pod->spec.termination_grace_seconds;
    if (grace_s < 0)
        grace_s = 1;
    if (grace_s > GRACE_MOST_S)
        grace_s = GRACE_MOST_S;
    if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0' || pod_is_finished(pod))
        grace_s = 0;
    return grace_s;
}

static bool
is_final(const struct object *object)
{
    return pod_is_finished(pod_of(object));
}

const struct kind pod_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "Pod",
    .list_name = "PodList",
    .plural = "pods",
    .singular = "pod",
    .short_names = (const char *const[]){"po", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_GRACEFUL_DELETION
             | KIND_SPEC_DEFAULTS | KIND_ANSWERS_DELETED,
    .pod_spec = "spec",
    .routine_verbs = MAY_DELETE,
    .record = &pod_record,
    .set_defaults = pod_set_defaults,
    .prepare = pod_prepare,
    .prepare_status = pod_prepare_status,
    .validate = pod_validate,
    .validate_status = pod_validate_status,
    .check_status = pod_check_status,
    .part_of_spec = pod_part_of_spec,
    .grace_s = grace_s,
    .is_final = is_final,
    .warn = pod_warn_of,
    .redact = pod_redact,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
    .table = &pod_table,
    .kiln_table = &pod_kiln_table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
    KIND_RIGHTS(rights),
    .operator_fields = operator_fields,
    KIND_SUBRESOURCES(subresources),
};
