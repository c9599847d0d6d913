/* SPDX-License-Identifier: Apache-2.0 */
/* kctl describe - shows everything about an object, for people */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/kctl/output/node_summary.h"
#include "cli/kctl/output/object_events.h"
#include "cli/kctl/output/object_summary.h"
#include "cli/kctl/output/prune_for_display.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* ---- The tasks of an array ---- */

/* A task's members have the same names as those of a row of history. */
static const struct {
    const char *name, *member, *column;
} lines[] = {
    {"Index", "index", "index"},
    {"State", "state", "state"},
    {"Attempt", "attempt", "attempt"},
    {"Node", "node", "node"},
    {"Started", "startTime", "started"},
    {"Ended", "endTime", "ended"},
    {"Elapsed", "endTime", "elapsed"},
    {"Exit code", "exitCode", "exit"},
    {"Reason", "reason", "reason"},
    {"Ended by", "endedBy", "by"},
    {"CPU time", "cpuTimeMicros", "cputime"},
    {"Peak memory", "peakMemoryBytes", "peak"},
    {"Read", "readBytes", "read"},
    {"Written", "writtenBytes", "written"},
    {"Pod", "pod", "pod"},
};

/* Task: "1042_7". Unknown values are omitted. */
static int
add_task_summary(struct kctl *kctl, const char *task, struct strbuf *out, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *items = NULL;
    const struct json *item;
    int r = job_tasks_fetch(kctl, task, arena, &items, err);

    if (r < 0)
        return r;
    item = json_at(items, 0);
    describe_output_add(out, 0, "Task", "%s", task);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        if (json_get(item, lines[i].member) == NULL)
            continue;
        history_columns_text(lines[i].column, item, &text);
        if (text.length > 0)
            describe_output_add(out, 0, lines[i].name, "%s", text.text);
    }
    return 0;
}

/* ---- The command ---- */

struct describe_options {
    struct common_options common;
    const char *label_selector;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only objects with these labels",
     .type = OPTION_TEXT,
     .offset = offsetof(struct describe_options, label_selector)},
};

static const struct option_table table = {
    .name = "kctl describe",
    .usage = "[OPTION]... TYPE NAME...\n[OPTION]... JOB...",
    .summary = "Show everything about objects, with their events.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl describe 1042\n"
            "  kctl describe 1042_7\n"
            "  kctl describe node n7",
};

static void
add_text(struct strbuf *out, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0')
        describe_output_add(out, 0, name, "%s", value);
}

/* Prints one "key=value" per line, the first one after the name. */
static void
add_map(struct strbuf *out, const char *name, const struct json *map)
{
    for (uint32_t i = 0; i < json_count(map); i++) {
        const char *value = json_text(map->members[i].value);

        if (i == 0)
            describe_output_add(out, 0, name, "%s=%s", map->members[i].name,
                                value != NULL ? value : "");
        else
            strbuf_printf(out, "%20s%s=%s\n", "", map->members[i].name, value != NULL ? value : "");
    }
}

static void
add_metadata(struct arena *arena, struct strbuf *out, const struct json *object)
{
    const struct json *meta = json_get(object, "metadata");
    const char *created = json_get_text(meta, "creationTimestamp");
    const int64_t id = json_get_int(json_get(object, "status"), "id", 0);

    add_text(out, "Name", json_get_text(meta, "name"));
    if (id > 0)
        describe_output_add(out, 0, "Job id", "%lld", (long long)id);
    add_text(out, "Namespace", json_get_text(meta, "namespace"));
    add_map(out, "Labels", json_get(meta, "labels"));
    add_map(out, "Annotations", json_get(meta, "annotations"));
    if (created != NULL)
        describe_output_add(out, 0, "Created", "%s (%s ago)", describe_output_local(arena, created),
                            describe_output_age(arena, created));
    if (json_get_text(meta, "deletionTimestamp") != NULL)
        describe_output_add(out, 0, "Being deleted", "since %s",
                            describe_output_local(arena, json_get_text(meta, "deletionTimestamp")));
}

static void
add_owner(struct strbuf *out, const struct json *object)
{
    const struct json *owners = json_get_path(object, "metadata.ownerReferences");

    for (uint32_t i = 0; i < json_count(owners); i++) {
        const struct json *owner = json_at(owners, i);

        if (json_is_true(json_get(owner, "controller")))
            describe_output_add(out, 0, "Controlled by", "%s/%s", json_get_text(owner, "kind"),
                                json_get_text(owner, "name"));
    }
}

static void
add_machine_line(const char *sentence, void *context)
{
    describe_output_add(context, 0, "", "%s", sentence);
}

/* A short description is enough, because kctl topology draws the node. */
static void
add_machine(struct strbuf *out, const struct json *wire)
{
    CLEANUP(topology_freep) struct topology *t = NULL;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (wire == NULL || json_is(wire, JSON_NULL) || topology_decode(wire, &t, NULL) < 0)
        return;
    node_summary_add(t, &text);
    describe_output_add(out, 0, "Machine", "%s", text.text);
    node_summary_reserved_cpus(t, add_machine_line, out);
}

/* Prints all other members of the object, such as spec, status and data. */
static void
add_rest(struct strbuf *out, struct json *object)
{
    json_remove(json_get(object, "status"), "conditions");
    for (uint32_t i = 0; i < json_count(object); i++) {
        const struct json_member *m = &object->members[i];
        static const char *const known[] = {"apiVersion", "kind", "metadata"};
        bool is_known = false;

        for (size_t k = 0; k < ARRAY_SIZE(known); k++)
            is_known = is_known || strcmp(m->name, known[k]) == 0;
        if (!is_known) {
            struct json_member copy = *m;
            const struct json one = {.type = JSON_OBJECT, .count = 1, .members = &copy};

            describe_output_add_tree(out, 0, &one);
        }
    }
}

/* Adds the pods of a job, or on a node. */
static int
add_pods(struct kctl *kctl, const struct target_object *object, struct arena *arena,
         struct strbuf *out, struct error *err)
{
    const bool is_node = object->kind == &node_kind;
    const struct target_object pods = {.kind = &pod_kind,
                                       .namespace = is_node ? NULL : object->namespace};
    struct json *items = NULL;
    int r = kctl_list(
        kctl, &pods, is_node ? NULL : arena_printf(arena, LABEL_JOB_NAME "=%s", object->name),
        is_node ? arena_printf(arena, "spec.nodeName=%s", object->name) : NULL, arena, &items, err);

    if (r < 0)
        return r;
    strbuf_add_text(out, "Pods:\n");
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *pod = json_at(items, i);
        const char *node = json_path_text(pod, "spec.nodeName");
        const char *cpus = json_path_text(pod, "status.allocation.cpus");
        const char *phase = json_path_text(pod, "status.phase");

        strbuf_printf(out, "  %s/%s  %s", json_path_text(pod, "metadata.namespace"),
                      json_path_text(pod, "metadata.name"), phase != NULL ? phase : "Pending");
        if (node != NULL && !is_node)
            strbuf_printf(out, " on %s", node);
        if (cpus != NULL)
            strbuf_printf(out, ", CPUs %s", cpus);
        strbuf_add_char(out, '\n');
    }
    if (json_count(items) == 0)
        strbuf_add_text(out, "  <none>\n");
    return 0;
}

/* Pods deleted by force may still hold resources of a node. */
static void
add_remnants(struct strbuf *out, const struct json *remnants)
{
    if (json_count(remnants) == 0)
        return;
    strbuf_add_text(out, "Deleted by force, but still running:\n");
    for (uint32_t i = 0; i < json_count(remnants); i++) {
        const struct json *remnant = remnants->members[i].value;
        const char *cpus = json_path_text(remnant, "allocation.cpus");
        const char *since = json_get_text(remnant, "leftAt");

        strbuf_printf(out, "  %s/%s", json_get_text(remnant, "namespace"),
                      json_get_text(remnant, "name"));
        if (since != NULL)
            strbuf_printf(out, "  since %s", since);
        if (cpus != NULL)
            strbuf_printf(out, ", CPUs %s", cpus);
        strbuf_add_char(out, '\n');
    }
}

/* Describes a task without a pod. The properties common to all tasks are
 * described with the array.
 */
static int
describe_task(struct kctl *kctl, const struct target_object *target, struct strbuf *out,
              struct error *err)
{
    describe_output_add(out, 0, "Array", "job/%s ('kctl describe job/%s -n %s' shows it)",
                        target->name, target->name, target->namespace);
    return object_events_describe(kctl, target, out, err);
}

static int
describe(struct kctl *kctl, const struct target_object *target, struct strbuf *out,
         struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *object = NULL;
    struct json *conditions, *remnants, *topology;
    int r = 0;

    if (target->task != NULL)
        r = add_task_summary(kctl, target->task, out, err);
    if (r == 0 && target->task != NULL && target->kind == &job_kind)
        return describe_task(kctl, target, out, err);
    if (r == 0)
        r = kctl_get(kctl, target, arena, &object, err);
    if (r < 0)
        return r;
    conditions = json_get_path(object, "status.conditions");
    remnants = json_get_path(object, "status.remnants");
    topology = json_get_path(object, "status.topology");
    json_remove(json_get(object, "status"), "remnants");
    prune_for_display(object);
    add_metadata(arena, out, object);
    add_owner(out, object);
    r = object_summary_add(kctl, target, out, err);
    if (r < 0)
        return r;
    if (target->kind == &node_kind)
        add_machine(out, topology);
    add_rest(out, object);
    describe_output_add_conditions(out, conditions);
    if (target->kind == &job_kind || target->kind == &node_kind)
        r = add_pods(kctl, target, arena, out, err);
    add_remnants(out, remnants);
    if (r == 0 && target->kind != &event_kind)
        r = object_events_describe(kctl, target, out, err);
    return r;
}

static int
describe_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
             struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct describe_options *o = options;
    struct named_resources resources;
    int r;

    kctl->takes_tasks = true;
    r = resource_select(kctl, NULL, n_operands, operands, o->label_selector,
                        o->label_selector == NULL && n_operands == 1, arena, &resources, err);

    for (size_t i = 0; r == 0 && i < resources.count; i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        r = describe(kctl, &resources.items[i], &out, err);
        if (r == 0 && i > 0)
            putchar('\n');
        if (r == 0)
            fwrite(out.text, 1, out.length, stdout);
    }
    return r;
}

const struct command describe_command = {
    .name = "describe",
    .options = &table,
    .options_size = sizeof(struct describe_options),
    .run = describe_run,
};
