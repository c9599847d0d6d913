/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/cronjob/cron_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/cron/cron_job.h"
#include "lib/api/cron/cron_schedule.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/time_zone.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

/* A last time further ahead than this was written while the clock was wrong.
 * Changes of daylight saving time and small corrections are shorter.
 */
#define AHEAD_MAX_S INT64_C(10800)

static bool
is_active(const struct object *job)
{
    return !job_is_finished(job_of(job)) && job->meta->deleted_at_us == 0;
}

/* The time that a Job was last created for; 0: none was. If the clock was years
 * ahead for a minute, a last time or a creation time from that minute would
 * suspend the schedule for years. So such a time counts as now, and the status
 * is then written with it.
 */
static int64_t
find_last(const struct cron_situation *s)
{
    const struct cron_job *c = cron_job_of(s->cron_job);
    const int64_t most_s = s->now_s + AHEAD_MAX_S;
    int64_t last_s = c->status.last_schedule_at_us / SECOND_US;

    if (last_s > most_s || (last_s == 0 && c->meta.created_at_us / SECOND_US > most_s))
        last_s = s->now_s;
    if (s->last_s > last_s && s->last_s <= most_s)
        last_s = s->last_s;
    for (size_t i = 0; i < s->n_jobs; i++) {
        int64_t at_s = cron_job_time_of_name_s(c->meta.name, s->jobs[i]->meta->name);

        if (at_s > last_s && at_s <= s->now_s)
            last_s = at_s;
    }
    return last_s;
}

/* ---- The status ---- */

static int
by_creation(const void *a, const void *b)
{
    const struct object *x = *(const struct object *const *)a;
    const struct object *y = *(const struct object *const *)b;

    if (x->meta->created_at_us != y->meta->created_at_us)
        return x->meta->created_at_us < y->meta->created_at_us ? -1 : 1;
    return strcmp(x->meta->name, y->meta->name);
}

static const struct object **
select_jobs(const struct cron_situation *s, struct arena *arena,
            bool (*is_wanted)(const struct object *), size_t *ret_count)
{
    const struct object **list = arena_new_array(arena, const struct object *, s->n_jobs + 1);

    *ret_count = 0;
    for (size_t i = 0; i < s->n_jobs; i++)
        if (is_wanted(s->jobs[i]))
            list[(*ret_count)++] = s->jobs[i];
    if (*ret_count > 1)
        qsort(list, *ret_count, sizeof(*list), by_creation);
    return list;
}

static int64_t
last_success_us(const struct cron_situation *s)
{
    int64_t last_us = cron_job_of(s->cron_job)->status.last_successful_at_us;

    for (size_t i = 0; i < s->n_jobs; i++) {
        const struct job *job = job_of(s->jobs[i]);

        if (job_find_condition(job, "Complete") != NULL && job->status.completion_at_us > last_us)
            last_us = job->status.completion_at_us;
    }
    return last_us;
}

static struct json *
refer_to(const struct object *job, struct arena *arena)
{
    struct json *reference = json_object(arena);

    json_set_string(arena, reference, "kind", job_kind.name);
    json_set_string(arena, reference, "namespace", job->meta->namespace);
    json_set_string(arena, reference, "name", job->meta->name);
    json_set_string(arena, reference, "uid", job->meta->uid);
    json_set_string(arena, reference, "apiVersion", job_kind.api_version);
    return reference;
}

static bool
lists_all(const struct cron_job_status *status, const struct object *const *active, size_t n_active)
{
    if (status->active.count != n_active)
        return false;
    for (size_t i = 0; i < n_active; i++) {
        const char *uid = status->active.items[i].uid;

        if (uid == NULL || strcmp(uid, active[i]->meta->uid) != 0)
            return false;
    }
    return true;
}

static void
set_time(struct arena *arena, struct json *status, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return;
    time_format(us, false, text);
    json_set_string(arena, status, name, text);
}

static void
plan_status(const struct cron_situation *s, struct arena *arena, const struct object *const *active,
            size_t n_active, int64_t last_s, struct cron_plan *plan)
{
    const struct cron_job_status *status = &cron_job_of(s->cron_job)->status;
    int64_t success_us = last_success_us(s);
    struct json *list;

    if (lists_all(status, active, n_active) && last_s == status->last_schedule_at_us / SECOND_US
        && success_us == status->last_successful_at_us)
        return;
    plan->status = json_object(arena);
    list = json_array(arena);
    for (size_t i = 0; i < n_active; i++)
        json_append(arena, list, refer_to(active[i], arena));
    json_set(arena, plan->status, "active", n_active > 0 ? list : json_null(arena));
    set_time(arena, plan->status, "lastScheduleTime", last_s * SECOND_US);
    set_time(arena, plan->status, "lastSuccessfulTime", success_us);
}

/* Collects ended Jobs that the status still lists as active. */
static void
plan_ended(const struct cron_situation *s, struct arena *arena, struct cron_plan *plan)
{
    const struct cron_job_status *status = &cron_job_of(s->cron_job)->status;

    plan->ended = arena_new_array(arena, const struct object *, s->n_jobs + 1);
    for (size_t i = 0; i < s->n_jobs; i++)
        for (unsigned k = 0; k < status->active.count; k++) {
            const char *uid = status->active.items[k].uid;

            if (job_is_finished(job_of(s->jobs[i])) && uid != NULL
                && strcmp(uid, s->jobs[i]->meta->uid) == 0)
                plan->ended[plan->n_ended++] = s->jobs[i];
        }
}

/* ---- Jobs to delete ---- */

static bool
has_succeeded(const struct object *job)
{
    return job_find_condition(job_of(job), "Complete") != NULL && job->meta->deleted_at_us == 0;
}

static bool
has_failed(const struct object *job)
{
    return job_find_condition(job_of(job), "Failed") != NULL && job->meta->deleted_at_us == 0;
}

static void
remove_oldest(const struct cron_situation *s, struct arena *arena,
              bool (*is_wanted)(const struct object *), const int64_t *most, struct cron_plan *plan)
{
    size_t count;
    const struct object **list = select_jobs(s, arena, is_wanted, &count);

    for (size_t i = 0; most != NULL && i + (size_t)*most < count; i++)
        plan->remove[plan->n_remove++] = list[i];
}

/* ---- The next start ---- */

static void
plan_due(const struct cron_situation *s, const struct cron_schedule *schedule, int64_t last_s,
         size_t n_active, struct cron_plan *plan)
{
    const struct cron_job *c = cron_job_of(s->cron_job);
    const int64_t *deadline_s = c->spec.starting_deadline_s;
    int64_t created_s = c->meta.created_at_us / SECOND_US;
    int64_t from_s = last_s > 0 ? last_s : created_s;
    int64_t due_s;

    if (s->not_before_s > from_s && s->not_before_s <= s->now_s + AHEAD_MAX_S)
        from_s = s->not_before_s;
    if (deadline_s != NULL && *deadline_s < s->now_s && s->now_s - *deadline_s > from_s)
        from_s = s->now_s - *deadline_s;
    due_s = cron_schedule_last_s(schedule, s->zone, from_s, s->now_s, CRON_MISSED_MAX + 1,
                                 &plan->missed);
    plan->wake_s = cron_schedule_next_s(schedule, s->zone, s->now_s > from_s ? s->now_s : from_s);
    if (due_s == 0)
        return;
    if (deadline_s != NULL && *deadline_s < s->now_s && due_s + *deadline_s < s->now_s)
        plan->is_too_late = true;
    else if (strcmp(c->spec.concurrency_policy, "Forbid") == 0 && n_active > 0)
        plan->is_waiting = true;
    else
        plan->due_s = due_s;
}

void
cron_plan_make(const struct cron_situation *s, struct arena *arena, struct cron_plan *plan)
{
    const struct cron_job *c = cron_job_of(s->cron_job);
    struct cron_schedule schedule;
    struct error err = {0};
    int64_t last_s = find_last(s);
    const struct object **active;
    size_t n_active;

    memset(plan, 0, sizeof(*plan));
    plan->remove = arena_new_array(arena, const struct object *, s->n_jobs + 1);
    active = select_jobs(s, arena, is_active, &n_active);
    plan_ended(s, arena, plan);
    plan_status(s, arena, active, n_active, last_s, plan);
    /* A Job is deleted only after a status that no longer lists it is written.
     */
    if (plan->status == NULL) {
        remove_oldest(s, arena, has_succeeded, c->spec.successful_jobs_limit, plan);
        remove_oldest(s, arena, has_failed, c->spec.failed_jobs_limit, plan);
    }
    if (c->spec.suspend || c->meta.deleted_at_us != 0)
        return;
    if (cron_schedule_parse(c->spec.schedule, &schedule, &err) < 0) {
        plan->mistake = arena_strdup(arena, err.text);
        return;
    }
    plan_due(s, &schedule, last_s, n_active, plan);
    if (plan->due_s == 0 || plan->status != NULL
        || strcmp(c->spec.concurrency_policy, "Replace") != 0)
        return;
    for (size_t i = 0; i < n_active; i++)
        plan->remove[plan->n_remove++] = active[i];
}

/* ---- The Job to create ---- */

static struct json *
copy_map(struct arena *arena, const struct json *from, const char *name)
{
    const struct json *map = json_get(from, name);

    return map != NULL ? json_dup(arena, map) : json_object(arena);
}

static void
add_owner(struct arena *arena, struct json *meta, const struct object *cron_job)
{
    struct json *owners = json_array(arena);
    struct json *owner = json_object(arena);

    json_set_string(arena, owner, "apiVersion", cron_job_kind.api_version);
    json_set_string(arena, owner, "kind", cron_job_kind.name);
    json_set_string(arena, owner, "name", cron_job->meta->name);
    json_set_string(arena, owner, "uid", cron_job->meta->uid);
    json_set_bool(arena, owner, "controller", true);
    json_set_bool(arena, owner, "blockOwnerDeletion", true);
    json_append(arena, owners, owner);
    json_set(arena, meta, "ownerReferences", owners);
}

/* For example "2026-11-23T16:42:00+01:00"; in UTC if the CronJob names no zone.
 */
static void
format_local(const struct time_zone *zone, int64_t at_s, char out[40])
{
    int64_t east_s = time_zone_offset_s(zone, at_s);
    char text[TIME_TEXT_SIZE];
    int64_t minutes = (east_s < 0 ? -east_s : east_s) / 60;

    time_format((at_s + east_s) * SECOND_US, false, text);
    if (zone == NULL)
        snprintf(out, 40, "%s", text);
    else
        snprintf(out, 40, "%.*s%c%02d:%02d", (int)strcspn(text, "Z"), text, east_s < 0 ? '-' : '+',
                 (int)(minutes / 60 % 100), (int)(minutes % 60));
}

struct json *
cron_plan_job(const struct object *cron_job, const struct time_zone *zone, int64_t at_s,
              struct arena *arena)
{
    const struct json *template = json_get_path(object_tree(cron_job, arena), "spec.jobTemplate");
    const struct json *from = json_get(template, "metadata");
    struct json *job = json_object(arena);
    struct json *meta = json_object(arena);
    struct json *annotations = copy_map(arena, from, "annotations");
    struct json *labels = copy_map(arena, from, "labels");
    bool says_zone = cron_job_of(cron_job)->spec.time_zone != NULL;
    char name[CRON_JOB_NAME_SIZE];
    char time[40];

    cron_job_name_job(cron_job->meta->name, at_s, name);
    format_local(says_zone ? zone : NULL, at_s, time);
    json_set_string(arena, annotations, ANNOTATION_SCHEDULED, time);
    json_set_string(arena, meta, "name", name);
    json_set_string(arena, meta, "namespace", cron_job->meta->namespace);
    json_set(arena, meta, "annotations", annotations);
    if (json_count(labels) > 0)
        json_set(arena, meta, "labels", labels);
    add_owner(arena, meta, cron_job);
    json_set_string(arena, job, "apiVersion", job_kind.api_version);
    json_set_string(arena, job, "kind", job_kind.name);
    json_set(arena, job, "metadata", meta);
    json_set(arena, job, "spec", json_get(template, "spec"));
    return job;
}
