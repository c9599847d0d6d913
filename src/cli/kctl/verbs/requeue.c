/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/requeue.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* The number of pods made so far. The pods are counted as well, because the
 * Job's status is written a little later.
 */
static int64_t
attempts_of(const struct json *job, const struct json *pods)
{
    int64_t attempts = json_get_int(json_get(job, "status"), "attempts", 0);

    for (uint32_t i = 0; i < json_count(pods); i++) {
        const char *name = json_path_text(json_at(pods, i), "metadata.name");
        const char *suffix = strrchr(name, '-');
        int64_t made = 1;

        if (suffix != NULL && suffix[1] == 'r')
            made += strtoll(suffix + 2, NULL, 10);
        if (made > attempts)
            attempts = made;
    }
    return attempts;
}

bool
requeue_add_to_patch(struct arena *arena,
                     struct json *patch,
                     const struct json *job,
                     const struct json *pods)
{
    const int64_t attempts = attempts_of(job, pods);
    const int64_t done = json_get_int(json_get(job, "status"), "requeued", 0);
    const int64_t before = attempts > done ? attempts : done + 1;
    struct json *at;

    if (attempts == 0)
        return false;
    at = json_make_object(arena, patch, "metadata");
    at = json_make_object(arena, at, "annotations");
    json_set_string(arena,
                    at,
                    ANNOTATION_REQUEUE_BEFORE,
                    arena_printf(arena, "%lld", (long long)before));
    return true;
}
