/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/removed_pod.h"

#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static void
copy_members(struct arena *arena, struct json *to, const struct json *from,
             const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct json *value = json_get(from, names[i]);

        if (value != NULL)
            json_set(arena, to, names[i], json_dup(arena, value));
    }
}

/* The job controller reads words and numbers. The owner of a pod may write longer
 * annotations.
 */
#define VALUE_MOST 256

static bool
is_read(const char *annotation, const struct json *value)
{
    static const char *const prefixes[] = {"kiln.hpc/", "batch.kubernetes.io/"};

    if (!json_is(value, JSON_STRING) || strlen(json_text(value)) > VALUE_MOST)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (strncmp(annotation, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static struct json *
copy_annotations(struct arena *arena, const struct json *annotations)
{
    struct json *copy = json_object(arena);

    for (uint32_t i = 0; i < json_count(annotations); i++) {
        const char *name = annotations->members[i].name;

        if (is_read(name, annotations->members[i].value))
            json_set(arena, copy, name, json_dup(arena, annotations->members[i].value));
    }
    return copy;
}

static struct json *
make_entry(struct arena *arena, const struct json *tree)
{
    static const char *const of_meta[] = {
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    };
    static const char *const of_spec[] = {"nodeName"};
    static const char *const of_status[] = {
        "phase",     "reason",
        "message",   "conditions",
        "cause",     "usage",
        "startTime", "frozenMicroseconds",
        "observed",  "containerStatuses",
    };
    struct json *entry = json_object(arena);
    struct json *meta = json_make_object(arena, entry, "metadata");

    copy_members(arena, meta, json_get(tree, "metadata"), of_meta, ARRAY_SIZE(of_meta));
    json_set(arena, meta, "annotations",
             copy_annotations(arena, json_get_path(tree, "metadata.annotations")));
    copy_members(arena, json_make_object(arena, entry, "spec"), json_get(tree, "spec"), of_spec,
                 ARRAY_SIZE(of_spec));
    copy_members(arena, json_make_object(arena, entry, "status"), json_get(tree, "status"),
                 of_status, ARRAY_SIZE(of_status));
    return entry;
}

/* A pod that was unwanted has not failed, whatever else its entry says: of a gang, of
 * which one pod has failed, that one's entry is needed most.
 */
static uint32_t
find_least_needed(const struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_get(json_get_path(json_at(list, i), "metadata.annotations"), ANNOTATION_SURPLUS)
            != NULL)
            return i;
    return 0;
}

void
removed_pod_add(struct arena *arena, struct json *job_status, const struct json *tree)
{
    struct json *list = json_get(job_status, "removedPods");

    if (!json_is(list, JSON_ARRAY)) {
        list = json_array(arena);
        json_set(arena, job_status, "removedPods", list);
    }
    while (json_count(list) >= REMOVED_PODS_MOST)
        json_remove_at(list, find_least_needed(list));
    json_append(arena, list, make_entry(arena, tree));
}

bool
removed_pod_read(struct arena *arena, const struct json *entry, struct pod *ret_pod)
{
    struct json *tree = json_dup(arena, entry);
    struct error err = {0};

    *ret_pod = (struct pod){0};
    if (!json_is(tree, JSON_OBJECT) || record_normalize(&pod_record, arena, tree, NULL, &err) < 0)
        return false;
    record_decode(&pod_record, arena, tree, ret_pod);
    return ret_pod->meta.name != NULL;
}
