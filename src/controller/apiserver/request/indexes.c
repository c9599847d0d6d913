/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/indexes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/store/store.h"
#include "lib/api/cluster/event.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/priority_class.h"
#include "lib/api/storage/persistent_volume.h"

static const char *
pod_node(const struct object *object, char buffer[64])
{
    const char *node = pod_of(object)->spec.node_name;

    (void)buffer;
    return node != NULL ? node : "";
}

static const char *
pod_job(const struct object *object, char buffer[64])
{
    const struct owner_reference *owner =
        meta_controller_of(object->meta, &job_kind);

    (void)buffer;
    return owner != NULL ? owner->uid : NULL;
}

/* Keys are the principal's. The Job names him when he submitted it for somebody
 * else; otherwise he is its owner.
 */
static const char *
job_key(const struct object *object, char buffer[64])
{
    const char *key =
        string_map_find(&object->meta->annotations, ANNOTATION_SUBMISSION);
    const char *submitter =
        string_map_find(&object->meta->annotations, ANNOTATION_SUBMITTER);
    const struct security_context *context =
        job_of(object)->spec.template_.spec->security_context;

    if (key != NULL && submitter != NULL) {
        snprintf(buffer, 64, "%.12s/%s", submitter, key);
        return buffer;
    }
    if (key == NULL || context == NULL || context->run_as_user == NULL)
        return NULL;
    snprintf(buffer, 64, "%" PRId64 "/%s", *context->run_as_user, key);
    return buffer;
}

static const char *
event_name(const struct object *object, char buffer[64])
{
    (void)buffer;
    return event_of(object)->involved.name;
}

static const char *
class_default(const struct object *object, char buffer[64])
{
    (void)buffer;
    return priority_class_of(object)->global_default ? "default" : NULL;
}

static const char *
node_name(const struct object *object, char buffer[64])
{
    (void)buffer;
    return object->meta->name;
}

static const char *
quota_namespace(const struct object *object, char buffer[64])
{
    (void)buffer;
    return object->meta->namespace;
}

static const char *
storage_default(const struct object *object, char buffer[64])
{
    static const char *const names[] = {
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    };

    (void)buffer;
    for (unsigned i = 0; i < 2; i++) {
        const char *text =
            string_map_find(&object->meta->annotations, names[i]);

        if (text != NULL && strcmp(text, "true") == 0)
            return "default";
    }
    return NULL;
}

static const char *
volume_node(const struct object *object, char buffer[64])
{
    const char *node =
        persistent_volume_scratch_node(persistent_volume_of(object));

    (void)buffer;
    return node != NULL ? node : "";
}

const struct store_index apiserver_indexes[N_INDEXES] = {
    [INDEX_PODS_BY_NODE] = {&pod_kind, pod_node},
    [INDEX_PODS_BY_JOB] = {&pod_kind, pod_job},
    [INDEX_JOBS_BY_KEY] = {&job_kind, job_key},
    [INDEX_EVENTS_BY_NAME] = {&event_kind, event_name},
    [INDEX_CLASS_BY_DEFAULT] = {&priority_class_kind, class_default},
    [INDEX_NODES_BY_NAME] = {&node_kind, node_name},
    [INDEX_QUOTAS_BY_NAMESPACE] = {&resource_quota_kind, quota_namespace},
    [INDEX_STORAGE_BY_DEFAULT] = {&storage_class_kind, storage_default},
    [INDEX_VOLUMES_BY_NODE] = {&persistent_volume_kind, volume_node},
};
