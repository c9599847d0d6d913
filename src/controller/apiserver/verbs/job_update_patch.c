/* SPDX-License-Identifier: Apache-2.0 */
/* Users think of tasks, CPUs per task and memory per CPU, a Job has the sums. So a changed
 * number is computed back together with those that were not given, as the submission did, and
 * both the sums and the numbers are written. The patch names the version of the Job that it
 * was made from: numbers from one version must not be applied to another.
 */
#include "controller/apiserver/verbs/job_update_patch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/objects/job_placement.h"
#include "controller/apiserver/objects/update_refusal.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/job_change.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_nodes.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/job_update.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/priority_class.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"

#define GPU   "kiln.hpc/gpu"
#define LIMIT "activeDeadlineSeconds"

#define MOST_CPUS  1000000
#define MOST_BYTES (INT64_C(1) << 60)
#define MOST_TEXT  1024
#define MOST_LIST  8192
#define MOST_PATH  4095
#define MOST_NICE  INT64_C(2147483645)

/* ---- The request ---- */

static const struct update_field {
    const char *name;
    enum json_type type;
    int64_t least, most; /* of a number; of a text its length */
} fields[] = {
    {"beginTime", JSON_STRING, 0, 64},
    {"comment", JSON_STRING, 0, MOST_TEXT},
    {"constraint", JSON_STRING, 0, MOST_TEXT},
    {"cpusPerTask", JSON_NUMBER, 1, MOST_CPUS},
    {"deadline", JSON_STRING, 0, 64},
    {"dependency", JSON_STRING, 0, MOST_LIST},
    {"excludedNodes", JSON_STRING, 0, MOST_LIST},
    {"gpuType", JSON_STRING, 0, 63},
    {"gpus", JSON_NUMBER, 0, 1024},
    {"mailType", JSON_STRING, 0, MOST_TEXT},
    {"mailUser", JSON_STRING, 0, MOST_TEXT},
    {"memoryBytes", JSON_NUMBER, 1, MOST_BYTES},
    {"memoryPerCPUBytes", JSON_NUMBER, 1, MOST_BYTES},
    {"name", JSON_STRING, 1, MOST_TEXT},
    {"nice", JSON_NUMBER, -MOST_NICE, MOST_NICE},
    {"nodes", JSON_STRING, 0, MOST_LIST},
    {"partition", JSON_STRING, 1, MOST_TEXT},
    {"priority", JSON_NUMBER, INT32_MIN, INT32_MAX},
    {"priorityClassName", JSON_STRING, 1, 253},
    {"qos", JSON_STRING, 1, 253},
    {"requeue", JSON_NUMBER, 0, 1},
    {"reservation", JSON_STRING, 0, 253},
    {"stderrPath", JSON_STRING, 0, MOST_PATH},
    {"stdoutPath", JSON_STRING, 1, MOST_PATH},
    {"tasks", JSON_NUMBER, 1, MOST_CPUS},
    {"throttle", JSON_NUMBER, -1, INT32_MAX},
    {"timeLimitSeconds", JSON_NUMBER, 0, INT32_MAX},
    {"workingDirectory", JSON_STRING, 1, MOST_PATH},
};

static const struct update_field *
find_field(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static int
check_field(const char *name, const struct json *value, struct error *err)
{
    const struct update_field *f = find_field(name);
    int64_t size = 0;

    if (f == NULL)
        return error_set(err, -EINVAL, "update: '%.64s' is not a field", name);
    if (f->type == JSON_STRING && json_is(value, JSON_STRING))
        size = (int64_t)strlen(json_text(value));
    else if (f->type != JSON_NUMBER || !json_is(value, JSON_NUMBER)
             || json_to_int(value, &size) < 0)
        return error_set(err, -EINVAL, "update.%s: expected a %s", name,
                         f->type == JSON_STRING ? "text" : "whole number");
    if (size >= f->least && size <= f->most)
        return 0;
    return error_set(err, -EINVAL, "update.%s: expected %s from %" PRId64 " to %" PRId64, name,
                     f->type == JSON_STRING ? "a string with a length" : "a number", f->least,
                     f->most);
}

int
job_update_patch_check(const struct json *update, struct error *err)
{
    CLEANUP(arena_freep) struct arena *scratch = arena_new(0);
    static const char *const times[] = {"beginTime", "deadline"};
    static const char *const either[][2] = {
        {"memoryBytes", "memoryPerCPUBytes"},
        {"qos", "priority"},
        {"qos", "priorityClassName"},
        {"nice", "priority"},
    };
    struct json *dependencies;
    int64_t us;

    if (!json_is(update, JSON_OBJECT) || json_count(update) == 0)
        return error_set(err, -EINVAL,
                         "\"update\" must contain the fields to change, such as "
                         "{\"timeLimitSeconds\": 7200}");
    for (uint32_t i = 0; i < json_count(update); i++) {
        int r = check_field(update->members[i].name, update->members[i].value, err);

        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        const char *text = json_get_text(update, times[i]);

        if (text != NULL && text[0] != '\0' && time_parse(text, &us) < 0)
            return error_set(err, -EINVAL,
                             "update.%s: expected \"\" or a time such as 2026-12-24T18:00:00Z",
                             times[i]);
    }
    if (json_get_text(update, "dependency") != NULL
        && job_dependency_parse(json_get_text(update, "dependency"), scratch, &dependencies, err)
               < 0)
        return error_wrap(err, -EINVAL, "update.dependency");
    for (size_t i = 0; i < ARRAY_SIZE(either); i++)
        if (json_get(update, either[i][0]) != NULL && json_get(update, either[i][1]) != NULL)
            return error_set(err, -EINVAL, "update: give either %s or %s, not both", either[i][0],
                             either[i][1]);
    if (json_get_text(update, "workingDirectory") != NULL
        && json_get_text(update, "workingDirectory")[0] != '/')
        return error_set(err, -EINVAL,
                         "update.workingDirectory: expected a path that begins with /");
    return 0;
}

/* ---- The template ---- */

/* A job that is being changed. */
struct template_edit {
    struct arena *arena;
    const struct json *update;
    struct json *template_;
    struct json *spec; /* of the template */
    int64_t nodes;     /* that the job has at a time, if it is one of several */
    bool is_array;
    bool has_new_nice; /* by which admission changes the template */
    const char *refusal;
};

static bool
has(const struct template_edit *e, const char *name)
{
    return json_get(e->update, name) != NULL;
}

static void
annotate(struct arena *arena, struct json *object, const char *name, const char *value)
{
    struct json *meta = json_make_object(arena, object, "metadata");

    if (value != NULL && value[0] != '\0')
        json_set_string(arena, json_make_object(arena, meta, "annotations"), name, value);
    else if (json_get(meta, "annotations") != NULL)
        json_remove(json_get(meta, "annotations"), name);
}

static void
edit_limit(struct template_edit *e)
{
    const int64_t seconds = json_get_int(e->update, "timeLimitSeconds", 0);

    if (seconds > 0)
        json_set_int(e->arena, e->spec, LIMIT, seconds);
    else
        json_remove(e->spec, LIMIT);
}

static struct json *
resources_of(struct template_edit *e)
{
    struct json *first = json_at(json_get(e->spec, "containers"), 0);

    return json_make_object(e->arena, first, "resources");
}

/* Sets request and limit to the same amount, as ksub does. NULL removes both.
 */
static void
set_amount(struct template_edit *e, const char *name, struct json *value)
{
    static const char *const lists[] = {"limits", "requests"};
    struct json *resources = resources_of(e);

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        if (value != NULL)
            json_set(e->arena, json_make_object(e->arena, resources, lists[i]), name, value);
        else if (json_get(resources, lists[i]) != NULL)
            json_remove(json_get(resources, lists[i]), name);
}

static int64_t
amount_of(struct template_edit *e, const char *name)
{
    const char *text = json_get_text(json_get(resources_of(e), "requests"), name);

    return text != NULL ? quantity_text_milli(text) : 0;
}

static int64_t
number_in_annotations(const struct template_edit *e, const char *name)
{
    const char *text = json_get_text(json_get_path(e->template_, "metadata.annotations"), name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static void
annotate_number(struct template_edit *e, const char *name, int64_t number)
{
    annotate(e->arena, e->template_, name, arena_printf(e->arena, "%" PRId64, number));
}

/* The tasks are those of all nodes; the first nodes have one more if they cannot be divided
 * equally. Returns how many each node has room for.
 */
static int64_t
divide_tasks(struct template_edit *e, int64_t tasks)
{
    if (e->nodes < 2)
        return tasks;
    if (tasks < e->nodes) {
        e->refusal = arena_printf(
            e->arena, "it has %" PRId64 " nodes, and each needs at least one task", e->nodes);
        return 1;
    }
    annotate(e->arena, e->template_, ANNOTATION_TASKS_PER_NODE, NULL);
    annotate(e->arena, e->template_, ANNOTATION_TOTAL_TASKS, NULL);
    if (tasks % e->nodes != 0)
        annotate_number(e, ANNOTATION_TOTAL_TASKS, tasks);
    return (tasks + e->nodes - 1) / e->nodes;
}

/* The CPUs of a node are tasks times CPUs per task; the number that is not given remains.
 */
static void
edit_cpus(struct template_edit *e)
{
    const int64_t milli = amount_of(e, "cpu");
    int64_t tasks = number_in_annotations(e, ANNOTATION_TASKS);
    int64_t each;

    if (strcmp(json_path_text(e->spec, "placement.cpuPolicy") != NULL
                   ? json_path_text(e->spec, "placement.cpuPolicy")
                   : "",
               "shared")
        == 0) {
        e->refusal = "it has a share of a node's CPUs (--shared), and no "
                     "tasks or CPUs of its own";
        return;
    }
    tasks = tasks > 0 ? tasks : 1;
    each = milli / 1000 / tasks;
    if (has(e, "tasks"))
        tasks = divide_tasks(e, json_get_int(e->update, "tasks", tasks));
    each = json_get_int(e->update, "cpusPerTask", each > 0 ? each : 1);
    if (e->refusal != NULL)
        return;
    if (tasks * each > MOST_CPUS) {
        e->refusal = "more CPUs than any node can have";
        return;
    }
    set_amount(e, "cpu", json_stringf(e->arena, "%" PRId64, tasks * each));
    if (has(e, "tasks"))
        annotate_number(e, ANNOTATION_TASKS, tasks);
    if (has(e, "cpusPerTask"))
        annotate_number(e, ANNOTATION_CPUS_PER_TASK, each);
}

static void
edit_memory(struct template_edit *e)
{
    int64_t bytes = json_get_int(e->update, "memoryBytes", 0);
    const int64_t each = json_get_int(e->update, "memoryPerCPUBytes", 0);
    const int64_t cpus = (amount_of(e, "cpu") + 999) / 1000;
    struct quantity q;
    char text[QUANTITY_TEXT_SIZE];

    if (each > 0 && each > MOST_BYTES / (cpus > 0 ? cpus : 1)) {
        e->refusal = "more memory than any node can have";
        return;
    }
    if (each > 0)
        bytes = each * (cpus > 0 ? cpus : 1);
    q = quantity_of(bytes, QUANTITY_BINARY_SI);
    quantity_format(&q, text);
    set_amount(e, "memory", json_string(e->arena, text));
}

static void
edit_gpus(struct template_edit *e)
{
    const int64_t gpus = json_get_int(e->update, "gpus", 0);
    const char *type = json_get_text(e->update, "gpuType");
    struct json *placement = json_make_object(e->arena, e->spec, "placement");

    set_amount(e, GPU, gpus > 0 ? json_stringf(e->arena, "%" PRId64, gpus) : NULL);
    if (type != NULL && type[0] != '\0' && gpus > 0)
        json_set_string(e->arena, placement, "gpuType", type);
    else
        json_remove(placement, "gpuType");
}

/* Sets a number, or a class and no number. */
static void
edit_priority(struct template_edit *e)
{
    json_remove(e->spec, "preemptionPolicy");
    json_remove(e->spec, "priority");
    if (has(e, "priorityClassName"))
        json_set_string(e->arena, e->spec, "priorityClassName",
                        json_get_text(e->update, "priorityClassName"));
    if (has(e, "priority"))
        json_set_int(e->arena, e->spec, "priority", json_get_int(e->update, "priority", 0));
}

/* A QOS is the class of this name. "normal" without such a class is none, as in a submission. */
static void
edit_qos(const struct job_change_call *c, struct template_edit *e, struct json *job)
{
    const char *qos = json_get_text(e->update, "qos");

    edit_priority(e);
    json_remove(e->spec, "priorityClassName");
    annotate(e->arena, job, ANNOTATION_QOS, qos);
    if (store_find(c->server->store, STORE_PENDING, &priority_class_kind, NULL, qos) != NULL)
        json_set_string(e->arena, e->spec, "priorityClassName", qos);
    else if (strcmp(qos, "normal") != 0)
        e->refusal = arena_printf(e->arena, "there is no priority class '%.64s'", qos);
}

/* Admission makes the number from that of the class (admission_scheduling.c). */
static void
edit_nice(struct template_edit *e, struct json *job)
{
    const int64_t nice = json_get_int(e->update, "nice", 0);
    const char *was = json_get_text(json_get_path(job, "metadata.annotations"), ANNOTATION_NICE);

    e->has_new_nice = nice != (was != NULL ? strtoll(was, NULL, 10) : 0);
    if (!e->has_new_nice)
        return;
    json_remove(e->spec, "priority");
    annotate(e->arena, job, ANNOTATION_NICE,
             nice != 0 ? arena_printf(e->arena, "%" PRId64, nice) : NULL);
}

/* An empty text removes the reservation. */
static void
edit_reservation(struct template_edit *e)
{
    const char *name = json_get_text(e->update, "reservation");
    struct json *placement = json_get(e->spec, "placement");

    if (name[0] != '\0')
        json_set_string(e->arena, json_make_object(e->arena, e->spec, "placement"), "reservation",
                        name);
    else if (placement != NULL)
        json_remove(placement, "reservation");
}

/* The reason is of the job, because it may depend on its present affinity. */
static void
edit_nodes(struct template_edit *e)
{
    struct error err = {0};
    int r = 0;

    if (has(e, "nodes") && e->nodes > 1)
        r = job_nodes_set_choice(e->arena, e->spec, json_get_text(e->update, "nodes"), e->nodes,
                                 &err);
    else if (has(e, "nodes"))
        r = job_nodes_set_names(e->arena, e->spec, false, json_get_text(e->update, "nodes"), &err);
    if (r == 0 && has(e, "excludedNodes"))
        r = job_nodes_set_names(e->arena, e->spec, true, json_get_text(e->update, "excludedNodes"),
                                &err);
    if (r == 0 && has(e, "constraint"))
        r = job_nodes_set_features(e->arena, e->spec, json_get_text(e->update, "constraint"), &err);
    if (r < 0)
        e->refusal = arena_strdup(e->arena, err.text);
}

/* An empty path sends the standard error to the output. */
static void
edit_files(struct template_edit *e)
{
    static const char *const names[] = {"stdoutPath", "stderrPath"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *path = json_get_text(e->update, names[i]);
        bool has_task = false;
        struct json *execution = json_get(e->spec, "execution");

        if (path == NULL || (path[0] == '\0' && execution == NULL))
            continue;
        if (path[0] == '\0')
            json_remove(execution, names[i]);
        else
            json_set_string(e->arena, json_make_object(e->arena, e->spec, "execution"), names[i],
                            e->is_array ? path : job_array_path_of_one(e->arena, path, &has_task));
        if (has_task)
            e->refusal = "it is not a job array, and %a in a path is the task of one";
    }
}

static void
edit_template(struct template_edit *e)
{
    edit_nodes(e);
    edit_files(e);
    if (has(e, "timeLimitSeconds"))
        edit_limit(e);
    if (has(e, "tasks") || has(e, "cpusPerTask"))
        edit_cpus(e);
    if (has(e, "memoryBytes") || has(e, "memoryPerCPUBytes"))
        edit_memory(e);
    if (has(e, "gpus"))
        edit_gpus(e);
    if (has(e, "partition"))
        job_update_set_partition(e->arena, e->spec, json_get_text(e->update, "partition"));
    if (has(e, "reservation"))
        edit_reservation(e);
    if (has(e, "workingDirectory"))
        json_set_string(e->arena, json_at(json_get(e->spec, "containers"), 0), "workingDir",
                        json_get_text(e->update, "workingDirectory"));
    if (has(e, "priority") || has(e, "priorityClassName"))
        edit_priority(e);
}

/* ---- The rest of the Job ---- */

/* An empty text removes all dependencies. */
static void
edit_dependencies(const struct template_edit *e, struct json *spec)
{
    struct json *all = NULL;

    /* job_update_patch_check has parsed it already */
    (void)job_dependency_parse(json_get_text(e->update, "dependency"), e->arena, &all, NULL);
    if (all != NULL)
        json_set(e->arena, spec, "dependencies", all);
    else
        json_remove(spec, "dependencies");
}

/* An empty text removes the time. */
static void
edit_time(const struct template_edit *e, struct json *spec, const char *name)
{
    const char *text = json_get_text(e->update, name);

    if (text != NULL && text[0] != '\0')
        json_set_string(e->arena, spec, name, text);
    else if (text != NULL)
        json_remove(spec, name);
}

static void
edit_job(const struct template_edit *e, struct json *job)
{
    static const struct {
        const char *field, *annotation;
    } texts[] = {
        {"comment", ANNOTATION_COMMENT},
        {"mailType", ANNOTATION_MAIL_TYPE},
        {"mailUser", ANNOTATION_MAIL_USER},
        {"name", ANNOTATION_JOB_NAME},
    };
    struct json *spec = json_make_object(e->arena, job, "spec");

    if (has(e, "timeLimitSeconds"))
        annotate(e->arena, job, ANNOTATION_TIME_LIMIT,
                 json_get(e->spec, LIMIT) == NULL ? TIME_LIMIT_NONE : NULL);
    /* Admitted again, also to a new one of the same name. */
    if (has(e, "priorityClassName") || has(e, "qos"))
        annotate(e->arena, job, ANNOTATION_CLASS_UID, NULL);
    if (has(e, "priority"))
        annotate(e->arena, job, ANNOTATION_NICE, NULL);
    if (has(e, "partition"))
        annotate(e->arena, job, ANNOTATION_PARTITION_UID, NULL);
    if (has(e, "reservation"))
        annotate(e->arena, job, ANNOTATION_RESERVATION_UID, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (has(e, texts[i].field))
            annotate(e->arena, job, texts[i].annotation, json_get_text(e->update, texts[i].field));
    if (has(e, "dependency"))
        edit_dependencies(e, spec);
    edit_time(e, spec, "beginTime");
    edit_time(e, spec, "deadline");
    if (has(e, "requeue"))
        json_set_bool(e->arena, spec, "requeue", json_get_int(e->update, "requeue", 0) != 0);
}

/* -1 removes the array's own limit. */
static void
edit_throttle(struct template_edit *e, struct json *job)
{
    const int64_t throttle = json_get_int(e->update, "throttle", -1);
    struct json *array = json_get_path(job, "spec.array");

    if (!json_is(array, JSON_OBJECT))
        e->refusal = "it is not a job array, and has no throttle";
    else if (throttle >= 0)
        json_set_int(e->arena, array, "throttle", throttle);
    else
        json_remove(array, "throttle");
}

static struct json *
refuse(struct job_change_call *c, const char *why)
{
    c->words = why;
    c->is_refused = true;
    return NULL;
}

static const char *
find_refusal(const struct job_change_call *c, enum job_update what, const struct template_edit *e)
{
    return what == JOB_UPDATE_NONE
               ? NULL
               : update_refusal(c->server, c->principal, c->object, what, e->spec, c->arena);
}

/* Name and begin time change only while the job waits: a running job has
 * received its name, and its begin time is past.
 */
static const char *
edit_waiting(const struct job_change_call *c, struct template_edit *e)
{
    const char *why =
        has(e, "name") || has(e, "beginTime") ? find_refusal(c, JOB_UPDATE_WAITING, e) : NULL;

    if (has(e, "beginTime") && why != NULL)
        return why;
    if (has(e, "name") && why == NULL)
        annotate(c->arena, e->template_, ANNOTATION_JOB_NAME, json_get_text(e->update, "name"));
    return NULL;
}

/* The message of a change. Tasks of an array that have a node keep what they
 * were placed with.
 */
static const char *
name_change(const struct job_change_call *c, enum job_update what)
{
    if (what == JOB_UPDATE_NONE || !job_is_array(job_of(c->object))
        || job_placement_find(c->server, c->object, NULL).node == NULL)
        return "updated";
    return "updated; tasks that have started keep what they have";
}

/* The patch has the Job's resourceVersion, so that it fails if the job was
 * changed after the checks.
 */
struct json *
job_update_patch_make(struct job_change_call *c)
{
    struct json *old = object_tree(c->object, c->arena);
    struct json *job = json_dup(c->arena, old);
    struct template_edit e = {
        .arena = c->arena,
        .update = c->update,
        .nodes = job_gang_size(job_of(c->object)),
        .is_array = json_get_path(job, "spec.array") != NULL,
        .template_ = json_get_path(job, "spec.template"),
        .spec = json_get_path(job, "spec.template.spec"),
    };
    enum job_update what;
    struct json *patch;

    if (job_is_finished(job_of(c->object)))
        return refuse(c, "has ended already");
    edit_template(&e);
    if (has(&e, "qos"))
        edit_qos(c, &e, job);
    if (has(&e, "nice"))
        edit_nice(&e, job);
    if (e.refusal == NULL)
        e.refusal = has(&e, "timeLimitSeconds") ? update_refusal_of_warning(e.spec, e.arena) : NULL;
    if (e.refusal == NULL)
        e.refusal = edit_waiting(c, &e);
    edit_job(&e, job);
    if (e.refusal == NULL && has(&e, "throttle"))
        edit_throttle(&e, job);
    what = job_update_compare(c->arena, e.template_, json_get_path(old, "spec.template"));
    if (e.has_new_nice && what == JOB_UPDATE_NONE)
        what = JOB_UPDATE_WAITING;
    if (e.refusal == NULL)
        e.refusal = find_refusal(c, what, &e);
    if (e.refusal != NULL)
        return refuse(c, e.refusal);
    patch = json_merge_diff(c->arena, old, job);
    c->words = patch != NULL ? name_change(c, what) : "has this value already";
    if (patch != NULL)
        json_set_string(c->arena, json_make_object(c->arena, patch, "metadata"), "resourceVersion",
                        c->object->meta->resource_version);
    return patch;
}
