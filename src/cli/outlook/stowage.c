/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/stowage.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

struct stowage {
    struct map *taken; /* node to int64_t */
};

int64_t
stowage_wanted(const struct pod_spec *spec)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const struct json *claim =
            json_get_path(spec->volumes.items[i].ephemeral,
                          "volumeClaimTemplate.spec");
        const char *class = json_get_text(claim, "storageClassName");

        if (class != NULL && strcmp(class, STORAGE_CLASS_SCRATCH) == 0)
            sum += quantity_text_value(
                json_path_text(claim, "resources.requests.storage"));
    }
    return sum;
}

struct stowage *
stowage_new(const struct object *const *volumes, unsigned n_volumes)
{
    struct stowage *s = xnew(struct stowage);

    s->taken = map_new();
    for (unsigned i = 0; i < n_volumes; i++) {
        const struct persistent_volume *v = persistent_volume_of(volumes[i]);
        const char *node = persistent_volume_scratch_node(v);
        int64_t *sum = node != NULL ? map_find(s->taken, node) : NULL;

        if (node == NULL)
            continue;
        if (sum == NULL) {
            sum = xnew(int64_t);
            map_put(s->taken, node, sum);
        }
        *sum += persistent_volume_bytes(v);
    }
    return s;
}

void
stowage_free(struct stowage *s)
{
    size_t at = 0;
    void *sum;

    if (s == NULL)
        return;
    while (map_next(s->taken, &at, NULL, &sum))
        free(sum);
    map_free(s->taken);
    free(s);
}

int64_t
stowage_taken(const struct stowage *s, const char *node)
{
    const int64_t *sum = map_find(s->taken, node);

    return sum != NULL ? *sum : 0;
}
