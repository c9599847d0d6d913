/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/marks/lost_pods.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct lost_pods {
    struct map *pods;  /* by namespace/name */
    struct map *nodes; /* what is noted for each, in bytes: size_t */
};

struct lost_entry {
    struct lost_pod pod; /* of the texts below */
    char *uid, *job_uid, *node, *allocation;
    size_t bytes;
};

static void
free_entry(struct lost_entry *e)
{
    if (e == NULL)
        return;
    free(e->uid);
    free(e->job_uid);
    free(e->node);
    free(e->allocation);
    free(e);
}

struct lost_pods *
lost_pods_new(void)
{
    struct lost_pods *lost = xnew(struct lost_pods);

    lost->pods = map_new();
    lost->nodes = map_new();
    return lost;
}

void
lost_pods_free(struct lost_pods *lost)
{
    size_t at = 0, at_node = 0;
    void *entry, *bytes;

    if (lost == NULL)
        return;
    while (map_next(lost->pods, &at, NULL, &entry))
        free_entry(entry);
    while (map_next(lost->nodes, &at_node, NULL, &bytes))
        free(bytes);
    map_free(lost->pods);
    map_free(lost->nodes);
    free(lost);
}

static size_t *
find_bytes(struct lost_pods *lost, const char *node)
{
    size_t *bytes = map_find(lost->nodes, node);

    if (bytes == NULL) {
        bytes = xnew(size_t);
        map_put(lost->nodes, node, bytes);
    }
    return bytes;
}

bool
lost_pods_note(struct lost_pods *lost, const char *namespace, const char *name,
               const struct lost_pod *pod)
{
    CLEANUP_FREE char *key = xasprintf("%s/%s", namespace, name);
    const size_t bytes = sizeof(struct lost_entry) + strlen(key) + strlen(pod->uid)
                         + strlen(pod->job_uid) + strlen(pod->node) + strlen(pod->allocation);
    struct lost_entry *e = map_find(lost->pods, key);
    const size_t replaced = e != NULL && strcmp(e->node, pod->node) == 0 ? e->bytes : 0;

    if (*find_bytes(lost, pod->node) - replaced + bytes > LOST_PODS_NODE_BYTES)
        return false;
    if (e != NULL)
        *find_bytes(lost, e->node) -= e->bytes;
    free_entry(map_remove(lost->pods, key));
    *find_bytes(lost, pod->node) += bytes;
    e = xnew(struct lost_entry);
    e->bytes = bytes;
    e->uid = xstrdup(pod->uid);
    e->job_uid = xstrdup(pod->job_uid);
    e->node = xstrdup(pod->node);
    e->allocation = xstrdup(pod->allocation);
    e->pod = (struct lost_pod){e->uid, e->job_uid, e->node, e->allocation};
    map_put(lost->pods, key, e);
    return true;
}

bool
lost_pods_are_none(const struct lost_pods *lost)
{
    return map_count(lost->pods) == 0;
}

const struct lost_pod *
lost_pods_find(const struct lost_pods *lost, const char *namespace, const char *name,
               const char *job_uid)
{
    CLEANUP_FREE char *key = NULL;
    const struct lost_entry *e;

    if (lost_pods_are_none(lost) || namespace == NULL || name == NULL || job_uid == NULL)
        return NULL;
    key = xasprintf("%s/%s", namespace, name);
    e = map_find(lost->pods, key);
    return e != NULL && strcmp(e->job_uid, job_uid) == 0 ? &e->pod : NULL;
}
