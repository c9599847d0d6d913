/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/access/redaction.h"

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const char *const of_metadata[] = {"annotations", "managedFields"};

/* Annotations that say nothing of what is run. */
static const char *const kept_annotations[] = {
    ANNOTATION_USER,
    ANNOTATION_UID,
    ANNOTATION_INDEX,
    "kiln.hpc/held-by",
    "kiln.hpc/suspended-by",
    "kiln.hpc/suspended-at",
    "kiln.hpc/deleted-by",
};

static const char *const of_pod_spec[] = {
    "execution",
    "volumes",
    "hostname",
    "subdomain",
};

/* Where the agent names the paths that it could not open. */
static const char *const of_end[] = {"message"};

static const char *const of_job_spec[] = {"script", "environment"};

static const char *const of_container[] = {
    "args",
    "command",
    "env",
    "envFrom",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
};

static void
drop(struct json *object, const char *const *names, size_t count)
{
    for (size_t i = 0; json_is(object, JSON_OBJECT) && i < count; i++)
        json_remove(object, names[i]);
}

static void
redact_containers(struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        drop(json_at(list, i), of_container, ARRAY_SIZE(of_container));
}

static void
redact_pod_spec(struct json *spec)
{
    drop(spec, of_pod_spec, ARRAY_SIZE(of_pod_spec));
    redact_containers(json_get(spec, "containers"));
    redact_containers(json_get(spec, "initContainers"));
}

static void
redact_meta(struct arena *arena, struct json *tree)
{
    struct json *meta = json_get(tree, "metadata");
    const struct json *all = json_get(meta, "annotations");
    struct json *kept = NULL;

    for (unsigned i = 0; i < ARRAY_SIZE(kept_annotations); i++) {
        struct json *value = json_get(all, kept_annotations[i]);

        if (value == NULL)
            continue;
        if (kept == NULL)
            kept = json_object(arena);
        json_set(arena, kept, kept_annotations[i], value);
    }
    drop(meta, of_metadata, ARRAY_SIZE(of_metadata));
    if (kept != NULL)
        json_set(arena, meta, "annotations", kept);
}

/* The termination message is output of the process, so it is redacted. */
static void
redact_states(struct json *statuses)
{
    static const char *const states[] = {"state", "lastState"};

    for (uint32_t i = 0; i < json_count(statuses); i++)
        for (unsigned k = 0; k < ARRAY_SIZE(states); k++) {
            struct json *ended =
                json_get(json_get(json_at(statuses, i), states[k]),
                         "terminated");

            if (ended != NULL)
                json_remove(ended, "message");
        }
}

struct json *
redaction_tree(struct arena *arena, const struct object *object)
{
    struct json *tree = object_tree(object, arena);

    redact_meta(arena, tree);
    if (object->kind == &job_kind) {
        struct json *template = json_get_path(tree, "spec.template");

        drop(json_get(tree, "spec"), of_job_spec, ARRAY_SIZE(of_job_spec));
        redact_meta(arena, template);
        redact_pod_spec(json_get(template, "spec"));
        drop(json_get_path(tree, "status.lastRun"), of_end, ARRAY_SIZE(of_end));
    } else {
        redact_pod_spec(json_get(tree, "spec"));
        drop(json_get(tree, "status"), of_end, ARRAY_SIZE(of_end));
        redact_states(json_get_path(tree, "status.containerStatuses"));
        redact_states(json_get_path(tree, "status.initContainerStatuses"));
    }
    return tree;
}
