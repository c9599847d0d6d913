/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/step_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

void
step_cache_expect(struct step_cache *cache, struct slurm_client *client, int64_t job)
{
    if (cache->n_jobs > 0 && cache->jobs[cache->n_jobs - 1] == job)
        return; /* another task of the array */
    if (cache->n_jobs == cache->capacity) {
        int64_t *jobs;

        cache->capacity = cache->capacity > 0 ? 2 * cache->capacity : STEP_LIST_JOBS;
        jobs = arena_new_array(client->arena, int64_t, cache->capacity);
        if (cache->n_jobs > 0)
            memcpy(jobs, cache->jobs, cache->n_jobs * sizeof(*jobs));
        cache->jobs = jobs;
    }
    cache->jobs[cache->n_jobs++] = job;
}

static void
fail(struct step_cache *cache, struct slurm_client *client, int64_t job, const struct error *err)
{
    if (!cache->has_failed)
        slurm_client_error(client, "the steps of job %" PRId64 " and later ones are not shown: %s",
                           job, err->text);
    cache->has_failed = true;
}

/* Each job has its part of the list, which is in the order of the jobs. */
static void
divide(struct step_cache *cache, struct arena *arena, const struct json *items)
{
    uint32_t at = 0;

    cache->steps = arena_new_array(arena, struct json *, cache->end - cache->begin);
    for (size_t i = cache->begin; i < cache->end; i++) {
        struct json *steps = json_array(arena);

        for (;
             at < json_count(items) && json_get_int(json_at(items, at), "job", 0) == cache->jobs[i];
             at++)
            json_append(arena, steps, json_at(items, at));
        cache->steps[i - cache->begin] = steps;
    }
}

/* Asks for the expected jobs from there on. */
static int
fill(struct step_cache *cache, struct slurm_client *client, size_t from, bool running,
     struct error *err)
{
    struct step_list list = step_list_make(client->arena);
    const size_t left = cache->n_jobs - from;
    size_t count = cache->is_single ? 1 : left < STEP_LIST_JOBS ? left : STEP_LIST_JOBS;
    int r = step_list_add_jobs(&list, &client->kctl, cache->jobs + from, count, running, err);

    if (r == -EINVAL && count > 1) { /* a controller of an earlier release */
        cache->is_single = true;
        count = 1;
        list = step_list_make(client->arena);
        r = step_list_add_jobs(&list, &client->kctl, cache->jobs + from, count, running, err);
    }
    if (r < 0)
        return r;
    cache->begin = from;
    cache->end = from + count;
    divide(cache, client->arena, list.items);
    return 0;
}

const struct json *
step_cache_find(struct step_cache *cache, struct slurm_client *client, int64_t job, bool running)
{
    struct step_list list;
    struct error err = {0};

    for (size_t i = cache->begin; i < cache->end; i++)
        if (cache->jobs[i] == job)
            return cache->steps[i - cache->begin];
    if (cache->has_failed)
        return NULL;
    for (size_t i = cache->end; i < cache->n_jobs; i++)
        if (cache->jobs[i] == job) {
            if (fill(cache, client, i, running, &err) == 0)
                return cache->steps[0];
            fail(cache, client, job, &err);
            return NULL;
        }
    if (cache->job == job)
        return cache->of_job;
    list = step_list_make(client->arena);
    if (step_list_add(&list, &client->kctl, job, NULL, running, &err) < 0) {
        fail(cache, client, job, &err);
        return NULL;
    }
    cache->job = job;
    cache->of_job = list.items;
    return list.items;
}

bool
step_cache_is_of_task(const struct json *record, int64_t task)
{
    return task < 0 || task == json_get_int(record, "task", json_get_int(record, "index", -1));
}
