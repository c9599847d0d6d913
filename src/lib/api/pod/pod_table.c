/* SPDX-License-Identifier: Apache-2.0 */
/* pod_table.c - the columns of pods: upstream's and Kiln's */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_tables.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* The summary of a pod's container statuses. */
struct container_summary {
    struct arena *arena;
    const char *reason;
    unsigned ready;
    unsigned total;
    int64_t restarts;
    int64_t restarted_at_us;
    bool is_initializing;
};

static bool
is_condition_true(const struct pod *pod, const char *type)
{
    const struct pod_condition *c = pod_find_condition(pod, type);

    return c != NULL && text_is_set(c->status) && strcmp(c->status, "True") == 0;
}

static void
note_restart(struct container_summary *s, const struct json *status)
{
    const char *text =
        json_get_text(json_get(json_get(status, "lastState"), "terminated"), "finishedAt");
    int64_t at_us = 0;

    s->restarts += json_get_int(status, "restartCount", 0);
    if (text != NULL && time_parse(text, &at_us) == 0 && at_us > s->restarted_at_us)
        s->restarted_at_us = at_us;
}

static const char *
ended_reason(struct container_summary *s, const struct json *ended)
{
    const char *reason = json_get_text(ended, "reason");
    int64_t signal = json_get_int(ended, "signal", 0);

    if (text_is_set(reason))
        return reason;
    if (signal != 0)
        return arena_printf(s->arena, "Signal:%" PRId64, signal);
    return arena_printf(s->arena, "ExitCode:%" PRId64, json_get_int(ended, "exitCode", 0));
}

static bool
is_sidecar(const struct pod *pod, const char *name)
{
    for (unsigned i = 0; i < pod->spec.init_containers.count; i++) {
        const struct container *c = &pod->spec.init_containers.items[i];

        if (name != NULL && c->name != NULL && strcmp(c->name, name) == 0)
            return text_is_set(c->restart_policy) && strcmp(c->restart_policy, "Always") == 0;
    }
    return false;
}

/* True: this init container delays the others. */
static bool
add_init_status(struct container_summary *s, const struct pod *pod, const struct json *status,
                uint32_t index)
{
    const struct json *state = json_get(status, "state");
    const struct json *ended = json_get(state, "terminated");
    const char *waiting = json_get_text(json_get(state, "waiting"), "reason");
    bool sidecar = is_sidecar(pod, json_get_text(status, "name"));

    note_restart(s, status);
    if (ended != NULL && json_get_int(ended, "exitCode", 0) == 0)
        return false;
    if (sidecar && json_is_true(json_get(status, "started"))) {
        if (json_is_true(json_get(status, "ready")))
            s->ready++;
        return false;
    }
    if (ended != NULL)
        s->reason = arena_printf(s->arena, "Init:%s", ended_reason(s, ended));
    else if (text_is_set(waiting) && strcmp(waiting, "PodInitializing") != 0)
        s->reason = arena_printf(s->arena, "Init:%s", waiting);
    else
        s->reason =
            arena_printf(s->arena, "Init:%u/%u", (unsigned)index, pod->spec.init_containers.count);
    return true;
}

/* Once the pod is initialized, only the sidecars' restarts count. */
static void
add_init_statuses(struct container_summary *s, const struct pod *pod, const struct json *statuses)
{
    struct container_summary beside = {0};

    for (uint32_t i = 0; i < json_count(statuses); i++) {
        const struct json *status = json_at(statuses, i);

        if (is_sidecar(pod, json_get_text(status, "name")))
            note_restart(&beside, status);
        if (add_init_status(s, pod, status, i)) {
            s->is_initializing = !is_condition_true(pod, "Initialized");
            break;
        }
    }
    if (s->is_initializing)
        return;
    s->restarts = beside.restarts;
    s->restarted_at_us = beside.restarted_at_us;
}

static void
add_statuses(struct container_summary *s, const struct pod *pod, const struct json *statuses)
{
    bool has_running = false;

    for (uint32_t i = json_count(statuses); i-- > 0;) {
        const struct json *status = json_at(statuses, i);
        const struct json *state = json_get(status, "state");
        const struct json *ended = json_get(state, "terminated");
        const char *waiting = json_get_text(json_get(state, "waiting"), "reason");

        note_restart(s, status);
        if (text_is_set(waiting))
            s->reason = waiting;
        else if (ended != NULL)
            s->reason = ended_reason(s, ended);
        else if (json_is_true(json_get(status, "ready")) && json_get(state, "running") != NULL) {
            has_running = true;
            s->ready++;
        }
    }
    if (has_running && strcmp(s->reason, REASON_COMPLETED) == 0)
        s->reason = is_condition_true(pod, "Ready") ? "Running" : "NotReady";
}

static void
add_all_statuses(struct container_summary *s, const struct object *object)
{
    const struct pod *pod = pod_of(object);

    for (unsigned i = 0; i < pod->spec.init_containers.count; i++)
        s->total += is_sidecar(pod, pod->spec.init_containers.items[i].name);
    if (pod->spec.init_containers.count > 0)
        add_init_statuses(
            s, pod, json_get_path(object_tree(object, s->arena), "status.initContainerStatuses"));
    if (!s->is_initializing)
        add_statuses(s, pod, pod->status.container_statuses);
}

static const void *
summarize(struct table_row *row)
{
    struct container_summary *s = arena_alloc(row->arena, sizeof(*s));
    const struct pod *pod = pod_of(row->object);
    const struct pod_condition *scheduled = pod_find_condition(pod, "PodScheduled");
    const char *phase = text_is_set(pod->status.phase) ? pod->status.phase : "";

    s->arena = row->arena;
    s->total = pod->spec.containers.count;
    s->reason = text_is_set(pod->status.reason) ? pod->status.reason : phase;
    if (scheduled != NULL && text_is_set(scheduled->reason)
        && strcmp(scheduled->reason, REASON_SCHEDULING_GATED) == 0)
        s->reason = REASON_SCHEDULING_GATED;
    add_all_statuses(s, row->object);
    if (pod->meta.deleted_at_us == 0)
        return s;
    if (text_is_set(pod->status.reason) && strcmp(pod->status.reason, REASON_NODE_LOST) == 0)
        s->reason = "Unknown";
    else if (!pod_is_finished(pod))
        s->reason = "Terminating";
    return s;
}

static void
add_ready(struct table_row *row)
{
    const struct container_summary *s = row->summary;

    table_cell(row, arena_printf(row->arena, "%u/%u", s->ready, s->total));
}

static void
add_status(struct table_row *row)
{
    const struct container_summary *s = row->summary;

    table_cell(row, s->reason);
}

static void
add_restarts(struct table_row *row)
{
    const struct container_summary *s = row->summary;
    char ago[TABLE_DURATION_SIZE], text[TABLE_DURATION_SIZE + 32];

    snprintf(text, sizeof(text), "%" PRId64, s->restarts);
    if (s->restarts != 0 && s->restarted_at_us != 0) {
        table_format_duration(row->now_us - s->restarted_at_us, ago);
        snprintf(text, sizeof(text), "%" PRId64 " (%s ago)", s->restarts, ago);
    }
    table_cell(row, text);
}

static const char *
or_none(const char *text)
{
    return text_is_set(text) ? text : "<none>";
}

static void
add_address(struct table_row *row)
{
    const char *text = object_text(row->object, row->arena);
    const struct json *tree = NULL;

    if (strstr(text, "\"podIP") != NULL)
        tree = object_tree(row->object, row->arena);
    table_cell(row, or_none(json_path_text(tree, "status.podIP")));
}

static void
add_node_or_none(struct table_row *row)
{
    table_cell(row, or_none(pod_of(row->object)->spec.node_name));
}

static void
add_nominated_node(struct table_row *row)
{
    const struct pod *pod = pod_of(row->object);

    table_cell(row, or_none(pod->status.nominated_node_name));
}

/* Reads fields that few pods have and that no struct has. */
static void
add_gates(struct table_row *row)
{
    const struct json *gates;
    const struct pod *pod = pod_of(row->object);
    const char *text = object_text(row->object, row->arena);
    unsigned met = 0;

    if (strstr(text, "\"readinessGates\":") == NULL) {
        table_cell(row, "<none>");
        return;
    }
    gates = json_get_path(object_tree(row->object, row->arena), "spec.readinessGates");
    for (uint32_t i = 0; i < json_count(gates); i++) {
        const char *type = json_get_text(json_at(gates, i), "conditionType");

        met += type != NULL && is_condition_true(pod, type);
    }
    table_cell(row, arena_printf(row->arena, "%u/%u", met, json_count(gates)));
}

static void
add_conditions(struct strbuf *out, const struct object *object)
{
    const char *phase = pod_of(object)->status.phase;
    bool failed = phase != NULL && strcmp(phase, "Failed") == 0;

    if (!pod_is_finished(pod_of(object)))
        return;
    strbuf_printf(out,
                  ",\"conditions\":[{\"type\":\"Completed\",\"status\":"
                  "\"True\",\"reason\":\"%s\",\"message\":\"%s\"}]",
                  failed ? "Failed" : "Succeeded",
                  failed ? "The pod failed." : "The pod has completed successfully.");
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Ready", add_ready, "Containers that are ready, of all."),
    COLUMN("Status", add_status, "Its state, or the reason for it."),
    COLUMN("Restarts", add_restarts, "How often containers were restarted."),
    TABLE_AGE,
    COLUMN("IP", add_address, "Its address.", WIDE),
    COLUMN("Node", add_node_or_none, "The node it runs on, or will run on.",
        WIDE),
    COLUMN("Nominated Node", add_nominated_node,
        "The node where other pods are being preempted for it.", WIDE),
    COLUMN("Readiness Gates", add_gates,
        "Conditions met, of those asked for.", WIDE),
};
/* clang-format on */

const struct table pod_table = {
    TABLE_COLUMNS(columns),
    .summarize = summarize,
    .add_conditions = add_conditions,
};

static void
add_user(struct table_row *row)
{
    const struct meta *meta = row->object->meta;
    const char *user = string_map_find(&meta->annotations, ANNOTATION_USER);

    table_cell(row, user != NULL ? user : string_map_find(&meta->labels, LABEL_USER));
}

static void
add_node(struct table_row *row)
{
    table_cell(row, pod_of(row->object)->spec.node_name);
}

static void
add_cpus(struct table_row *row)
{
    const struct allocation *a = pod_of(row->object)->status.allocation;

    table_cell(row, a != NULL && text_is_set(a->cpus) ? a->cpus : a != NULL ? "shared" : "");
}

static void
add_numa(struct table_row *row)
{
    const struct allocation *a = pod_of(row->object)->status.allocation;

    table_cell(row, a != NULL ? a->memory_nodes : "");
}

static void
add_withheld(struct table_row *row)
{
    const struct allocation *a = pod_of(row->object)->status.allocation;

    table_cell(row, a != NULL ? a->withheld : "");
}

/* Its agent ends it; the table of upstream does not show that. */
static bool
is_ended_by_agent(const struct pod *pod)
{
    return pod_is_ending(pod) && pod->meta.deleted_at_us == 0;
}

static void
add_kiln_status(struct table_row *row)
{
    if (is_ended_by_agent(pod_of(row->object)))
        table_cell(row, "Terminating");
    else
        add_status(row);
}

/* Writes why the pod waits or was ended, with the text that the Job's table
 * shows, or upstream's message if another scheduler or a former release wrote
 * no cause.
 */
static void
add_wait_reason(struct table_row *row)
{
    const struct pod_cause *cause = pod_of(row->object)->status.cause;
    const struct pod_condition *scheduled = pod_find_condition(pod_of(row->object), "PodScheduled");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (is_ended_by_agent(pod_of(row->object)))
        table_cell(row, POD_OVER_LIMIT);
    else if (cause != NULL && text_is_set(cause->message))
        table_cell(row, cause->message);
    else if (scheduled == NULL || !text_is_set(scheduled->status)
             || strcmp(scheduled->status, "False") != 0)
        table_cell(row, "");
    else if (!text_is_set(scheduled->message))
        table_cell(row, scheduled->reason);
    else {
        refusals_format_brief(scheduled->message, &text);
        table_cell(row, text.text);
    }
}

static void
add_code(struct table_row *row)
{
    const struct pod_cause *cause = pod_of(row->object)->status.cause;

    table_cell(row, cause != NULL ? cause->code : "");
}

static void
add_exit(struct table_row *row)
{
    struct container_state state;
    char text[32] = "";

    if (pod_main_state(pod_of(row->object), &state) && state.terminated) {
        if (state.signal != 0)
            snprintf(text, sizeof(text), "signal %" PRId64, state.signal);
        else
            snprintf(text, sizeof(text), "%" PRId64, state.exit_code);
    }
    table_cell(row, text);
}

/* clang-format off */
static const struct table_column kiln_columns[] = {
    TABLE_NAME,
    COLUMN("User", add_user, "Its user."),
    COLUMN("State", add_kiln_status, "Its state, or the reason for it."),
    COLUMN("Node", add_node, "The node it runs on, or will run on."),
    COLUMN("CPUs", add_cpus, "The hardware threads it has to itself."),
    COLUMN("NUMA", add_numa, "The NUMA nodes its memory comes from."),
    TABLE_AGE,
    COLUMN("Reason", add_wait_reason, "Why it does not run yet."),
    COLUMN("Code", add_code,
        "The reason as a fixed word.", WIDE),
    COLUMN("Exit", add_exit,
        "Its exit code, or the signal it died of.", WIDE),
    COLUMN("Withheld", add_withheld,
        "Siblings of its threads, kept idle.", WIDE),
};
/* clang-format on */

const struct table pod_kiln_table = {
    TABLE_COLUMNS(kiln_columns),
    .summarize = summarize,
    .add_conditions = add_conditions,
};
