/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/marks/lost_pods.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct lost_pods {
    struct map *pods; /* by namespace/name */
};

struct lost_entry {
    struct lost_pod pod; /* of the texts below */
    char *uid, *job_uid, *node, *allocation;
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
    return lost;
}

void
lost_pods_free(struct lost_pods *lost)
{
    size_t at = 0;
    void *entry;

    if (lost == NULL)
        return;
    while (map_next(lost->pods, &at, NULL, &entry))
        free_entry(entry);
    map_free(lost->pods);
    free(lost);
}

void
lost_pods_note(struct lost_pods *lost, const char *namespace, const char *name,
               const struct lost_pod *pod)
{
    CLEANUP_FREE char *key = xasprintf("%s/%s", namespace, name);
    struct lost_entry *e = xnew(struct lost_entry);

    e->uid = xstrdup(pod->uid);
    e->job_uid = xstrdup(pod->job_uid);
    e->node = xstrdup(pod->node);
    e->allocation = xstrdup(pod->allocation);
    e->pod = (struct lost_pod){e->uid, e->job_uid, e->node, e->allocation};
    free_entry(map_remove(lost->pods, key));
    map_put(lost->pods, key, e);
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
