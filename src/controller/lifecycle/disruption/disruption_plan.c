/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/disruption/disruption_plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/pod_disruption_budget.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

/* After this time a granted eviction that led to no deletion expires. */
#define DISRUPTION_TIMEOUT_US (INT64_C(120) * 1000000)

struct disruption_counts {
    const struct object *object;
    const struct pod_disruption_budget *budget;
    struct arena *arena;
    const struct json *status; /* the budget's status as it is now */
    struct json *disrupted;    /* status.disruptedPods without the expired
                                * entries */
    int64_t now_us;
    int64_t wake_us;
    int64_t pods;
    int64_t healthy;
    int64_t scale; /* pods that the Jobs run at a time, plus pods without a
                    * Job */
    struct map *jobs;
};

struct disruption_counts *
disruption_counts_new(const struct object *budget, int64_t now_us)
{
    struct disruption_counts *counts = xnew(struct disruption_counts);

    counts->object = budget;
    counts->budget = pod_disruption_budget_of(budget);
    counts->arena = arena_new(0);
    counts->status = json_get(object_tree(budget, counts->arena), "status");
    counts->disrupted = json_object(counts->arena);
    counts->now_us = now_us;
    counts->jobs = map_new();
    return counts;
}

void
disruption_counts_free(struct disruption_counts *counts)
{
    if (counts == NULL)
        return;
    map_free(counts->jobs);
    arena_free(counts->arena);
    free(counts);
}

bool
disruption_selects(const struct object *budget, const struct object *pod)
{
    return strcmp(budget->meta->namespace, pod->meta->namespace) == 0
           && label_selector_matches(pod_disruption_budget_of(budget)->selector,
                                     &pod->meta->labels);
}

static int64_t
scale_of(const struct job *job)
{
    int64_t parallel = job->spec.parallelism != NULL ? *job->spec.parallelism : 1;
    int64_t left =
        job->spec.completions != NULL ? *job->spec.completions - job->status.succeeded : parallel;

    return left < parallel ? left : parallel;
}

static void
add_scale(struct disruption_counts *counts, const struct object *pod, const struct object *job)
{
    if (job == NULL) {
        counts->scale += !pod_is_finished(pod_of(pod));
    } else if (map_find(counts->jobs, job->meta->name) == NULL) {
        map_put(counts->jobs, job->meta->name, counts);
        counts->scale += scale_of(job_of(job));
    }
}

static bool
is_ready(const struct pod *pod)
{
    const struct pod_condition *c = pod_find_condition(pod, "Ready");

    return c != NULL && strcmp(c->status, "True") == 0;
}

/* Whether an eviction of the pod was granted and has not expired; the pod may
 * still look healthy.
 */
static bool
is_disrupted(struct disruption_counts *counts, const char *name)
{
    const struct json *at = json_get(json_get(counts->status, "disruptedPods"), name);
    int64_t at_us, until_us;

    if (at == NULL || time_parse(json_text(at), &at_us) < 0)
        return false;
    until_us = at_us + DISRUPTION_TIMEOUT_US;
    if (until_us <= counts->now_us)
        return false;
    json_set(counts->arena, counts->disrupted, name, json_dup(counts->arena, at));
    if (counts->wake_us == 0 || until_us < counts->wake_us)
        counts->wake_us = until_us;
    return true;
}

void
disruption_counts_add(struct disruption_counts *counts, const struct object *pod,
                      const struct object *job)
{
    counts->pods++;
    add_scale(counts, pod, job);
    if (pod->meta->deleted_at_us == 0 && !is_disrupted(counts, pod->meta->name)
        && is_ready(pod_of(pod)))
        counts->healthy++;
}

/* "3", or "50%" of all, rounded up. */
static int64_t
resolve(const char *text, int64_t all)
{
    char *end;
    int64_t n = strtoll(text, &end, 10);

    return *end == '%' ? (n * all + 99) / 100 : n;
}

static bool
is_share(const char *text)
{
    return strchr(text, '%') != NULL;
}

struct numbers {
    int64_t expected, desired, allowed;
};

static struct numbers
count(const struct disruption_counts *counts)
{
    const struct pod_disruption_budget *b = counts->budget;
    struct numbers n = {.expected = counts->pods};

    if (b->max_unavailable != NULL) {
        n.expected = counts->scale;
        n.desired = n.expected - resolve(b->max_unavailable, n.expected);
    } else if (b->min_available != NULL) {
        if (is_share(b->min_available))
            n.expected = counts->scale;
        n.desired = resolve(b->min_available, n.expected);
    } else {
        n.desired = 1;
    }
    if (n.desired < 0)
        n.desired = 0;
    n.allowed = counts->healthy - n.desired;
    if (n.expected <= 0 || n.allowed < 0)
        n.allowed = 0;
    return n;
}

static bool
is_right(const struct disruption_counts *counts, const struct numbers *n)
{
    const struct pod_disruption_budget *b = counts->budget;
    const struct json *before = json_get(counts->status, "disruptedPods");

    return b->observed_generation == b->meta.generation && b->observed_generation > 0
           && b->disruptions_allowed == n->allowed && b->current_healthy == counts->healthy
           && b->desired_healthy == n->desired && b->expected_pods == n->expected
           && json_count(before) == json_count(counts->disrupted);
}

static struct json *
condition(const struct disruption_counts *counts, struct arena *arena, const struct numbers *n)
{
    struct json *c = json_object(arena), *list = json_array(arena);
    const char *value = n->allowed > 0 ? "True" : "False";
    const struct json *before = json_at(json_get(counts->status, "conditions"), 0);
    const char *since = json_get_text(before, "lastTransitionTime");
    const char *was = json_get_text(before, "status");
    char now[TIME_TEXT_SIZE];

    time_format(counts->now_us, false, now);
    json_set_string(arena, c, "type", "DisruptionAllowed");
    json_set_string(arena, c, "status", value);
    json_set_int(arena, c, "observedGeneration", counts->budget->meta.generation);
    json_set_string(arena, c, "lastTransitionTime",
                    since != NULL && was != NULL && strcmp(was, value) == 0 ? since : now);
    json_set_string(arena, c, "reason",
                    n->allowed > 0 ? REASON_SUFFICIENT_PODS : REASON_INSUFFICIENT_PODS);
    json_set_string(arena, c, "message", "");
    json_append(arena, list, c);
    return list;
}

/* A null in a merge patch removes a pod that is no longer disrupted. */
static struct json *
disrupted_patch(const struct disruption_counts *counts, struct arena *arena)
{
    const struct json *before = json_get(counts->status, "disruptedPods");
    struct json *patch = json_dup(arena, counts->disrupted);

    for (uint32_t i = 0; i < json_count(before); i++)
        if (json_get(counts->disrupted, before->members[i].name) == NULL)
            json_set(arena, patch, before->members[i].name, json_null(arena));
    return patch;
}

struct json *
disruption_plan(const struct disruption_counts *counts, struct arena *arena, int64_t *ret_wake_us)
{
    struct numbers n = count(counts);
    struct json *body, *status;

    *ret_wake_us = counts->wake_us;
    if (is_right(counts, &n))
        return NULL;
    body = json_object(arena);
    status = json_make_object(arena, body, "status");
    json_set_int(arena, status, "observedGeneration", counts->budget->meta.generation);
    json_set_int(arena, status, "disruptionsAllowed", n.allowed);
    json_set_int(arena, status, "currentHealthy", counts->healthy);
    json_set_int(arena, status, "desiredHealthy", n.desired);
    json_set_int(arena, status, "expectedPods", n.expected);
    json_set(arena, status, "disruptedPods", disrupted_patch(counts, arena));
    json_set(arena, status, "conditions", condition(counts, arena, &n));
    return body;
}
