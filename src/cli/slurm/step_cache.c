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

bool
step_cache_runs(struct slurm_client *client, const char *word)
{
    struct step_cache cache = {0};
    const struct json *records = step_cache_find(&cache, client, atoll(word), true);
    const char *task = strchr(word, '_');
    const char *dot = strchr(word, '.');
    const int64_t id = dot != NULL ? atoll(dot + 1) : -1;

    for (uint32_t i = 0; i < json_count(records); i++)
        if (json_get_int(json_at(records, i), "step", -1) == id
            && step_cache_is_of_task(json_at(records, i), task != NULL ? atoll(task + 1) : -1))
            return true;
    return false;
}
