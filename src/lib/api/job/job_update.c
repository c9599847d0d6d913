/* SPDX-License-Identifier: Apache-2.0 */
/* A pod copies its Job's template, and an update of the Job must reach each pod that has not
 * started, and no other. So updates are numbered, pods carry the number that they were made
 * with, and a pod with another number gets no node until it was updated: neither the scheduler
 * nor the binding needs to compare templates.
 */
#include "lib/api/job/job_update.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job_array.h"
#include "lib/api/object/check.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#define LIMIT "activeDeadlineSeconds"

#define REQUIRED_NODES "requiredDuringSchedulingIgnoredDuringExecution"

/* Members of the pod's spec. preemptionPolicy comes with the priority class. */
static const char *const members[] = {
    LIMIT,      "affinity",          "nodeSelector", "placement", "preemptionPolicy",
    "priority", "priorityClassName",
};

static const char *const of_containers[] = {"resources", "workingDir"};

static const char *const annotations[] = {
    ANNOTATION_CPUS_PER_TASK,  ANNOTATION_JOB_NAME,    ANNOTATION_TASKS,
    ANNOTATION_TASKS_PER_NODE, ANNOTATION_TOTAL_TASKS,
};

/* ---- Parts of trees ---- */

static void
take(struct arena *arena, struct json *to, const struct json *from, const char *name)
{
    struct json *value = json_get(from, name);

    if (value != NULL)
        json_set(arena, to, name, json_dup(arena, value));
    else if (to != NULL)
        json_remove(to, name);
}

/* Copies each container's resources and directory; what the containers run stays. */
static void
take_containers(struct arena *arena, struct json *spec, const struct json *from)
{
    struct json *list = json_get(spec, "containers");
    const struct json *others = json_get(from, "containers");

    for (uint32_t i = 0; i < json_count(list) && i < json_count(others); i++)
        for (size_t k = 0; k < ARRAY_SIZE(of_containers); k++)
            take(arena, json_at(list, i), json_at(others, i), of_containers[k]);
}

/* The job's own files; its input stays, because the new one may not exist. */
static const char *const paths[] = {"stdoutPath", "stderrPath"};

static void
take_paths(struct arena *arena, struct json *spec, const struct json *from)
{
    struct json *execution = json_get(spec, "execution");
    const struct json *other = json_get(from, "execution");

    for (size_t i = 0; execution != NULL && i < ARRAY_SIZE(paths); i++)
        take(arena, execution, other, paths[i]);
}

static void
take_annotation(struct arena *arena, struct json *object, const struct json *from, const char *name)
{
    const char *value = json_get_text(json_get_path(from, "metadata.annotations"), name);
    struct json *meta;

    if (value != NULL) {
        meta = json_make_object(arena, object, "metadata");
        json_set_string(arena, json_make_object(arena, meta, "annotations"), name, value);
        return;
    }
    meta = json_get(object, "metadata");
    if (json_get(json_get(meta, "annotations"), name) == NULL)
        return;
    json_remove(json_get(meta, "annotations"), name);
    if (json_count(json_get(meta, "annotations")) == 0)
        json_remove(meta, "annotations");
}

/* ---- Templates ---- */

/* Compares two templates; an empty map of annotations equals none. */
static bool
is_same(struct arena *arena, struct json *template_, const struct json *old)
{
    struct json *was = json_dup(arena, old);
    struct json *sides[] = {template_, was};

    for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
        struct json *meta = json_get(sides[i], "metadata");

        json_remove(meta, "creationTimestamp");
        if (meta != NULL && json_count(json_get(meta, "annotations")) == 0)
            json_remove(meta, "annotations");
        if (meta != NULL && json_count(meta) == 0)
            json_remove(sides[i], "metadata");
    }
    return json_equals(template_, was);
}

enum job_update
job_update_compare(struct arena *arena, const struct json *template_, const struct json *old)
{
    struct json *t = json_dup(arena, template_);
    struct json *spec = json_get(t, "spec");
    const struct json *was = json_get(old, "spec");

    if (spec == NULL || was == NULL)
        return template_ == old || json_equals(template_, old) ? JOB_UPDATE_NONE : JOB_UPDATE_OTHER;
    if (is_same(arena, t, old))
        return JOB_UPDATE_NONE;
    take(arena, spec, was, LIMIT);
    if (is_same(arena, t, old))
        return JOB_UPDATE_LIMIT;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        take(arena, spec, was, members[i]);
    take_containers(arena, spec, was);
    take_paths(arena, spec, was);
    for (size_t i = 0; i < ARRAY_SIZE(annotations); i++)
        take_annotation(arena, t, old, annotations[i]);
    return is_same(arena, t, old) ? JOB_UPDATE_WAITING : JOB_UPDATE_OTHER;
}

/* ---- The number of the update ---- */

static const char *
number_of(const struct json *object)
{
    return json_get_text(json_get_path(object, "metadata.annotations"), ANNOTATION_UPDATE);
}

void
job_update_keep_number(struct arena *arena, struct json *job, const struct json *old)
{
    if (!text_equals(number_of(job), number_of(old)))
        take_annotation(arena, job, old, ANNOTATION_UPDATE);
}

void
job_update_count(struct arena *arena, struct json *job, const struct json *old)
{
    const char *was = number_of(old);
    const int64_t number = was != NULL ? strtoll(was, NULL, 10) : 0;
    struct json *meta = json_make_object(arena, job, "metadata");

    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_UPDATE,
                    arena_printf(arena, "%" PRId64, number < INT64_MAX ? number + 1 : 1));
}

bool
job_update_is_current(const struct meta *pod, const struct meta *job)
{
    return text_equals(string_map_find(&pod->annotations, ANNOTATION_UPDATE),
                       string_map_find(&job->annotations, ANNOTATION_UPDATE));
}

/* ---- Pods ---- */

static void
take_deadline(struct arena *arena, struct json *pod, const struct json *job)
{
    const char *deadline = json_path_text(job, "spec.deadline");
    struct json *meta = json_make_object(arena, pod, "metadata");

    if (deadline != NULL)
        json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_DEADLINE,
                        deadline);
    else if (json_get(meta, "annotations") != NULL)
        json_remove(json_get(meta, "annotations"), ANNOTATION_DEADLINE);
}

/* Files of an array's task have its numbers instead of the patterns. */
static void
name_files(struct arena *arena, struct json *pod, const struct json *job)
{
    const char *task =
        json_get_text(json_get_path(pod, "metadata.annotations"), ANNOTATION_ARRAY_TASK);
    const int64_t id = json_get_int(json_get(job, "status"), "id", 0);
    struct json *execution = json_get_path(pod, "spec.execution");

    for (size_t i = 0; task != NULL && i < ARRAY_SIZE(paths); i++) {
        const char *path = json_get_text(execution, paths[i]);

        if (path != NULL && strchr(path, '%') != NULL)
            json_set_string(arena, execution, paths[i],
                            job_array_path(arena, path, id, strtoll(task, NULL, 10)));
    }
}

void
job_update_pod(struct arena *arena, struct json *pod, const struct json *job)
{
    const struct json *template_ = json_get_path(job, "spec.template");
    const struct json *wanted = json_get(template_, "spec");
    struct json *spec = json_get(pod, "spec");

    take_annotation(arena, pod, job, ANNOTATION_UPDATE);
    take(arena, spec, wanted, LIMIT);
    if (*check_text(spec, "nodeName") != '\0')
        return;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        take(arena, spec, wanted, members[i]);
    take_containers(arena, spec, wanted);
    take_paths(arena, spec, wanted);
    name_files(arena, pod, job);
    take_annotation(arena, pod, template_, ANNOTATION_CPUS_PER_TASK);
    take_annotation(arena, pod, template_, ANNOTATION_TASKS);
    take_annotation(arena, pod, template_, ANNOTATION_TASKS_PER_NODE);
    take_annotation(arena, pod, template_, ANNOTATION_TOTAL_TASKS);
    take_annotation(arena, pod, job, ANNOTATION_JOB_NAME);
    take_annotation(arena, pod, job, ANNOTATION_CLASS_UID);
    take_annotation(arena, pod, job, ANNOTATION_PARTITION_UID);
    take_annotation(arena, pod, job, ANNOTATION_RESERVATION_UID);
    take_deadline(arena, pod, job);
}

/* ---- The partition ---- */

static bool
is_of_partition(const struct json *requirement)
{
    return strcmp(check_text(requirement, "key"), LABEL_PARTITION) == 0;
}

/* The list without its requirement of a partition. */
static struct json *
other_requirements(struct arena *arena, const struct json *list)
{
    struct json *others = json_array(arena);

    for (uint32_t i = 0; i < json_count(list); i++)
        if (!is_of_partition(json_at(list, i)))
            json_append(arena, others, json_dup(arena, json_at(list, i)));
    return others;
}

/* A term without any requirement would match no node, so it is dropped. */
static struct json *
other_terms(struct arena *arena, const struct json *terms)
{
    struct json *others = json_array(arena);

    for (uint32_t i = 0; i < json_count(terms); i++) {
        struct json *term = json_dup(arena, json_at(terms, i));
        struct json *labels = other_requirements(arena, json_get(term, "matchExpressions"));

        if (json_count(labels) > 0)
            json_set(arena, term, "matchExpressions", labels);
        else
            json_remove(term, "matchExpressions");
        if (json_count(term) > 0)
            json_append(arena, others, term);
    }
    return others;
}

/* Removes the labels by which former releases of ksub asked for partitions. */
static void
remove_labels(struct arena *arena, struct json *spec)
{
    struct json *selector = json_get(spec, "nodeSelector");
    struct json *affinity = json_get(spec, "affinity");
    struct json *nodes = json_get(affinity, "nodeAffinity");
    struct json *required = json_get(nodes, REQUIRED_NODES);
    struct json *terms;

    if (selector != NULL && json_remove(selector, LABEL_PARTITION) && json_count(selector) == 0)
        json_remove(spec, "nodeSelector");
    if (required == NULL)
        return;
    terms = other_terms(arena, json_get(required, "nodeSelectorTerms"));
    if (json_count(terms) > 0) {
        json_set(arena, required, "nodeSelectorTerms", terms);
        return;
    }
    json_remove(nodes, REQUIRED_NODES);
    if (json_count(nodes) == 0)
        json_remove(affinity, "nodeAffinity");
    if (json_count(affinity) == 0)
        json_remove(spec, "affinity");
}

void
job_update_set_partition(struct arena *arena, struct json *spec, const char *list)
{
    remove_labels(arena, spec);
    json_set_string(arena, json_make_object(arena, spec, "placement"), "partition", list);
}
