/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/step_cache.h"

#include <stdlib.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define MOST_ASKED 1000

const struct json *
step_cache_find(struct step_cache *cache, struct slurm_client *client, int64_t job, bool running)
{
    struct error err = {0};

    if (cache->job == job)
        return cache->list.items;
    if (cache->n_asked >= MOST_ASKED)
        return NULL;
    cache->list = step_list_make(client->arena);
    cache->job = job;
    cache->n_asked++;
    if (step_list_add(&cache->list, &client->kctl, job, NULL, running, &err) < 0)
        cache->n_asked = MOST_ASKED; /* a controller of a release without them */
    return cache->list.items;
}

bool
step_cache_is_of_task(const struct json *record, int64_t task)
{
    return task < 0 || task == json_get_int(record, "task", json_get_int(record, "index", -1));
}
