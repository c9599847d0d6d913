/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/job_pods.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static int64_t
made_at(const struct json *pod)
{
    const char *text = json_path_text(pod, "metadata.creationTimestamp");
    int64_t us = 0;

    if (text != NULL)
        time_parse(text, &us);
    return us;
}

/* Pods created in the same second are sorted by the length of their names, then
 * by the names: "-0" comes before "-0-r1", and "-0-r1" before "-0-r10".
 */
static int
compare(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a;
    const struct json *y = *(const struct json *const *)b;
    const char *left = json_path_text(x, "metadata.name");
    const char *right = json_path_text(y, "metadata.name");

    if (made_at(x) != made_at(y))
        return made_at(x) < made_at(y) ? -1 : 1;
    if (strlen(left) != strlen(right))
        return strlen(left) < strlen(right) ? -1 : 1;
    return strcmp(left, right);
}

static int
list(struct kctl *kctl, const struct target_object *job, const char *labels, struct arena *arena,
     struct json **ret_pods, struct error *err)
{
    const struct target_object pods = {.kind = &pod_kind, .namespace = job->namespace};
    struct json *items = NULL;
    int r = kctl_list(kctl, &pods, labels, NULL, arena, &items, err);

    if (r < 0)
        return r;
    if (json_count(items) > 1)
        qsort(items->items, items->count, sizeof(*items->items), compare);
    *ret_pods = items;
    return 0;
}

int
job_pods(struct kctl *kctl, const struct target_object *job, struct arena *arena,
         struct json **ret_pods, struct error *err)
{
    return list(kctl, job, arena_printf(arena, LABEL_JOB_NAME "=%s", job->name), arena, ret_pods,
                err);
}

int
job_pods_of_index(struct kctl *kctl, const struct target_object *job, int64_t index,
                  struct arena *arena, struct json **ret_pods, struct error *err)
{
    return list(
        kctl, job,
        arena_printf(arena, LABEL_JOB_NAME "=%s," ANNOTATION_INDEX "=%" PRId64, job->name, index),
        arena, ret_pods, err);
}
