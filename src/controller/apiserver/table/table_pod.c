/* SPDX-License-Identifier: Apache-2.0 */
/* table_pod.c - the columns of pods, upstream's and Kiln's */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/request/view.h"
#include "controller/apiserver/table/table.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/refusals.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const struct table_column columns[] = {
    TABLE_NAME,
    {"Ready", "string", NULL, 0, "Containers that are ready, of all."},
    {"Status", "string", NULL, 0, "Its state, or the reason for it."},
    {"Restarts", "string", NULL, 0, "How often containers were restarted."},
    TABLE_AGE,
    {"IP", "string", NULL, 1, "Its address."},
    {"Node", "string", NULL, 1, "Where it runs, or will."},
    {"Nominated Node", "string", NULL, 1, "Where room is being made for it."},
    {"Readiness Gates",
     "string",
     NULL,
     1,
     "Conditions met, of those asked for."},
};

/* The summary of a pod's container statuses. */
struct summary {
    struct arena *arena;
    const char *reason;
    unsigned ready;
    unsigned total;
    int64_t restarts;
    int64_t restarted_at_us;
    bool is_initializing;
};

static bool
is_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool
is_condition_true(const struct pod *pod, const char *type)
{
    const struct pod_condition *c = pod_find_condition(pod, type);

    return c != NULL && is_text(c->status) && strcmp(c->status, "True") == 0;
}

static void
note_restart(struct summary *s, const struct json *status)
{
    const char *text =
        json_get_text(json_get(json_get(status, "lastState"), "terminated"),
                      "finishedAt");
    int64_t at_us = 0;

    s->restarts += json_get_int(status, "restartCount", 0);
    if (text != NULL && time_parse(text, &at_us) == 0
        && at_us > s->restarted_at_us)
        s->restarted_at_us = at_us;
}

static const char *
ended_reason(struct summary *s, const struct json *ended)
{
    const char *reason = json_get_text(ended, "reason");
    int64_t signal = json_get_int(ended, "signal", 0);

    if (is_text(reason))
        return reason;
    if (signal != 0)
        return arena_printf(s->arena, "Signal:%" PRId64, signal);
    return arena_printf(s->arena,
                        "ExitCode:%" PRId64,
                        json_get_int(ended, "exitCode", 0));
}

static bool
is_sidecar(const struct pod *pod, const char *name)
{
    for (unsigned i = 0; i < pod->spec.init_containers.count; i++) {
        const struct container *c = &pod->spec.init_containers.items[i];

        if (name != NULL && c->name != NULL && strcmp(c->name, name) == 0)
            return is_text(c->restart_policy)
                   && strcmp(c->restart_policy, "Always") == 0;
    }
    return false;
}

/* True: this one holds the rest up. */
static bool
add_init_status(struct summary *s,
                const struct pod *pod,
                const struct json *status,
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
    else if (is_text(waiting) && strcmp(waiting, "PodInitializing") != 0)
        s->reason = arena_printf(s->arena, "Init:%s", waiting);
    else
        s->reason = arena_printf(s->arena,
                                 "Init:%u/%u",
                                 (unsigned)index,
                                 pod->spec.init_containers.count);
    return true;
}

/* Once it is initialized, those that ran beside the others count alone. */
static void
add_init_statuses(struct summary *s,
                  const struct pod *pod,
                  const struct json *statuses)
{
    struct summary beside = {0};

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
add_statuses(struct summary *s,
             const struct pod *pod,
             const struct json *statuses)
{
    bool has_running = false;

    for (uint32_t i = json_count(statuses); i-- > 0;) {
        const struct json *status = json_at(statuses, i);
        const struct json *state = json_get(status, "state");
        const struct json *ended = json_get(state, "terminated");
        const char *waiting =
            json_get_text(json_get(state, "waiting"), "reason");

        note_restart(s, status);
        if (is_text(waiting))
            s->reason = waiting;
        else if (ended != NULL)
            s->reason = ended_reason(s, ended);
        else if (json_is_true(json_get(status, "ready"))
                 && json_get(state, "running") != NULL) {
            has_running = true;
            s->ready++;
        }
    }
    if (has_running && strcmp(s->reason, "Completed") == 0)
        s->reason = is_condition_true(pod, "Ready") ? "Running" : "NotReady";
}

static void
summarize(const struct object *object, struct summary *s)
{
    const struct pod *pod = pod_of(object);
    const struct pod_condition *scheduled =
        pod_find_condition(pod, "PodScheduled");
    const char *phase = is_text(pod->status.phase) ? pod->status.phase : "";

    s->total = pod->spec.containers.count;
    s->reason = is_text(pod->status.reason) ? pod->status.reason : phase;
    if (scheduled != NULL && is_text(scheduled->reason)
        && strcmp(scheduled->reason, "SchedulingGated") == 0)
        s->reason = "SchedulingGated";
    for (unsigned i = 0; i < pod->spec.init_containers.count; i++)
        s->total += is_sidecar(pod, pod->spec.init_containers.items[i].name);
    if (pod->spec.init_containers.count > 0)
        add_init_statuses(s,
                          pod,
                          json_get_path(object_tree(object, s->arena),
                                        "status.initContainerStatuses"));
    if (!s->is_initializing)
        add_statuses(s, pod, pod->status.container_statuses);
    if (pod->meta.deleted_at_us == 0)
        return;
    if (is_text(pod->status.reason)
        && strcmp(pod->status.reason, "NodeLost") == 0)
        s->reason = "Unknown";
    else if (!pod_is_finished(pod))
        s->reason = "Terminating";
}

static const char *
format_restarts(const struct summary *s, int64_t now_us)
{
    char ago[TABLE_DURATION_SIZE];

    if (s->restarts == 0 || s->restarted_at_us == 0)
        return arena_printf(s->arena, "%" PRId64, s->restarts);
    table_format_duration(now_us - s->restarted_at_us, ago);
    return arena_printf(s->arena, "%" PRId64 " (%s ago)", s->restarts, ago);
}

static const char *
or_none(const char *text)
{
    return is_text(text) ? text : "<none>";
}

/* Reads fields that few pods have and no struct holds. */
static const char *
format_gates(struct summary *s, const struct object *object)
{
    const struct json *gates;
    const struct pod *pod = pod_of(object);
    unsigned met = 0;

    if (strstr(object_text(object, s->arena), "\"readinessGates\":") == NULL)
        return "<none>";
    gates = json_get_path(object_tree(object, s->arena), "spec.readinessGates");
    for (uint32_t i = 0; i < json_count(gates); i++) {
        const char *type = json_get_text(json_at(gates, i), "conditionType");
        const struct pod_condition *c =
            type != NULL ? pod_find_condition(pod, type) : NULL;

        met +=
            c != NULL && is_text(c->status) && strcmp(c->status, "True") == 0;
    }
    return arena_printf(s->arena, "%u/%u", met, json_count(gates));
}

static const char *
find_address(struct summary *s, const struct object *object)
{
    if (strstr(object_text(object, s->arena), "\"podIP") == NULL)
        return NULL;
    return json_path_text(object_tree(object, s->arena), "status.podIP");
}

static void
add_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct pod *pod = pod_of(object);
    struct summary s = {.arena = arena};

    summarize(object, &s);
    table_cell(row, pod->meta.name);
    table_cell(row, arena_printf(arena, "%u/%u", s.ready, s.total));
    table_cell(row, s.reason);
    table_cell(row, format_restarts(&s, row->view->now_us));
    table_cell_age(row, pod->meta.created_at_us);
    table_cell(row, or_none(find_address(&s, object)));
    table_cell(row, or_none(pod->spec.node_name));
    table_cell(row, or_none(pod->status.nominated_node_name));
    table_cell(row, format_gates(&s, object));
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
                  failed ? "The pod failed."
                         : "The pod has completed successfully.");
}

const struct table pod_table = {
    .kind = &pod_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_cells,
    .add_conditions = add_conditions,
};

static const struct table_column kiln_columns[] = {
    TABLE_NAME,
    {"User", "string", NULL, 0, "Whose process it is."},
    {"State", "string", NULL, 0, "Its state, or the reason for it."},
    {"Node", "string", NULL, 0, "Where it runs, or will."},
    {"CPUs", "string", NULL, 0, "The hardware threads it has to itself."},
    {"NUMA", "string", NULL, 0, "The NUMA nodes its memory comes from."},
    TABLE_AGE,
    {"Reason", "string", NULL, 0, "Why it does not run yet."},
    {"Exit", "string", NULL, 1, "Its exit code, or the signal it died of."},
    {"Withheld", "string", NULL, 1, "Siblings of its threads, kept idle."},
};

static const char *
find_user(const struct meta *meta)
{
    const char *user = string_map_find(&meta->annotations, ANNOTATION_USER);

    return user != NULL ? user : string_map_find(&meta->labels, LABEL_USER);
}

/* Why no node takes it, in a few words; in the buffer. */
static const char *
find_wait_reason(const struct pod *pod, struct strbuf *buffer)
{
    const struct pod_condition *scheduled =
        pod_find_condition(pod, "PodScheduled");

    if (scheduled == NULL || !is_text(scheduled->status)
        || strcmp(scheduled->status, "False") != 0)
        return "";
    if (!is_text(scheduled->message))
        return scheduled->reason;
    refusals_format_brief(scheduled->message, buffer);
    return buffer->text;
}

static const char *
format_exit(struct arena *arena, const struct pod *pod)
{
    struct container_state state;

    if (!pod_main_state(pod, &state) || !state.terminated)
        return "";
    if (state.signal != 0)
        return arena_printf(arena, "signal %" PRId64, state.signal);
    return arena_printf(arena, "%" PRId64, state.exit_code);
}

static void
add_kiln_cells(struct table_row *row, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct pod *pod = pod_of(object);
    const struct allocation *a = pod->status.allocation;
    struct summary s = {.arena = arena};
    CLEANUP_STRBUF struct strbuf reason = STRBUF_INIT;

    summarize(object, &s);
    table_cell(row, pod->meta.name);
    table_cell(row, find_user(&pod->meta));
    table_cell(row, s.reason);
    table_cell(row, pod->spec.node_name);
    table_cell(row,
               a != NULL && is_text(a->cpus) ? a->cpus
               : a != NULL                   ? "shared"
                                             : "");
    table_cell(row, a != NULL ? a->memory_nodes : "");
    table_cell_age(row, pod->meta.created_at_us);
    table_cell(row, find_wait_reason(pod, &reason));
    table_cell(row, format_exit(arena, pod));
    table_cell(row, a != NULL ? a->withheld : "");
}

const struct table pod_kiln_table = {
    .kind = &pod_kind,
    .columns = kiln_columns,
    .n_columns = ARRAY_SIZE(kiln_columns),
    .add_cells = add_kiln_cells,
    .add_conditions = add_conditions,
};
