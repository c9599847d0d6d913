/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/cron_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/print/grid.h"
#include "cli/print/local_time.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/cron/cron_job.h"
#include "lib/api/cron/cron_schedule.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/time_zone.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US  INT64_C(1000000)
#define JUST_NOW_S 60

static struct target_object
target_of(const struct kctl *kctl, const struct kind *kind, const char *name)
{
    return (struct target_object){
        .kind = kind,
        .namespace = kctl_namespace(kctl),
        .name = name,
    };
}

/* ---- Operands ---- */

/* The name after "cronjob/", or NULL. */
static const char *
name_of(const char *operand, struct arena *arena)
{
    const char *slash = strchr(operand, '/');

    if (slash == NULL
        || kind_find_any_name(arena_strndup(arena, operand, (size_t)(slash - operand)))
               != &cron_job_kind)
        return NULL;
    return slash + 1;
}

/* Whether there is a CronJob with that name and no Job. */
static int
is_cron_job(struct kctl *kctl, const char *name, struct arena *arena, bool *ret_is,
            struct error *err)
{
    const struct target_object cron_job = target_of(kctl, &cron_job_kind, name);
    const struct target_object job = target_of(kctl, &job_kind, name);
    struct json *found = NULL, *other = NULL;
    int r = kctl_find(kctl, &cron_job, arena, &found, err);

    if (r == 0 && found != NULL)
        r = kctl_find(kctl, &job, arena, &other, err);
    *ret_is = found != NULL && other == NULL;
    return r;
}

static bool
may_be_name(const char *operand)
{
    return operand[0] != '\0' && strpbrk(operand, "/,_=*?%") == NULL
           && !id_ranges_looks_like(operand) && kind_find_any_name(operand) == NULL
           && !job_operands_is_step(operand) && !job_operands_is_part(operand);
}

int
cron_jobs_take(struct kctl *kctl, int *n_operands, char **operands, struct arena *arena,
               const char ***ret_names, size_t *ret_count, struct error *err)
{
    const bool are_all = *n_operands > 1 && kind_find_any_name(operands[0]) == &cron_job_kind;
    const char **names = arena_new_array(arena, const char *, (size_t)*n_operands + 1);
    int n_rest = 0;

    *ret_names = names;
    *ret_count = 0;
    for (int i = are_all; i < *n_operands; i++) {
        const char *name = name_of(operands[i], arena);
        bool is_plain = false;

        if (name == NULL && !are_all && may_be_name(operands[i])) {
            int r = is_cron_job(kctl, operands[i], arena, &is_plain, err);

            if (r < 0)
                return r;
        }
        if (name != NULL || are_all || is_plain)
            names[(*ret_count)++] = name != NULL ? name : operands[i];
        else
            operands[n_rest++] = operands[i];
    }
    *n_operands = n_rest;
    return 0;
}

/* ---- Changes ---- */

static int
set_suspend(struct kctl *kctl, const struct target_object *object, bool holds, struct arena *arena,
            struct json **ret_object, struct error *err)
{
    struct json *patch = json_object(arena);

    json_set_bool(arena, json_make_object(arena, patch, "spec"), "suspend", holds);
    return kctl_patch(kctl, object, patch, arena, ret_object, err);
}

/* The CronJob is held first, so that no Job is created after its active ones
 * were read. Its Jobs stay as they are, with their records.
 */
static int
cancel(struct kctl *kctl, const struct target_object *object, struct arena *arena,
       struct json **ret_held, struct error *err)
{
    struct json *body = json_object(arena);
    const struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = object->kind,
        .namespace = object->namespace,
        .name = object->name,
        .body = body,
    };
    int r = set_suspend(kctl, object, true, arena, ret_held, err);

    if (r < 0)
        return r;
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "kind", "DeleteOptions");
    json_set_string(arena, body, "propagationPolicy", "Orphan");
    r = kctl_call(kctl, &request, arena, NULL, err);
    if (r < 0)
        return r;
    printf("%s cancelled\n", kctl_label(object, arena));
    return 0;
}

static int
change(struct kctl *kctl, const struct target_object *object, enum cron_jobs_verb verb,
       struct arena *arena, struct json **ret_held, struct error *err)
{
    const bool holds = verb == CRON_JOBS_HOLD;
    struct json *found = NULL;
    int r = kctl_get(kctl, object, arena, &found, err);

    if (r < 0)
        return r;
    if (verb == CRON_JOBS_CANCEL)
        return cancel(kctl, object, arena, ret_held, err);
    if (json_is_true(json_get_path(found, "spec.suspend")) == holds) {
        printf("%s is %s already\n", kctl_label(object, arena), holds ? "held" : "released");
        return 0;
    }
    r = set_suspend(kctl, object, holds, arena, &found, err);
    if (r == 0)
        printf("%s %s\n", kctl_label(object, arena), holds ? "held" : "released");
    return r;
}

static bool
is_among(const struct json *active, const char *name)
{
    for (uint32_t i = 0; i < json_count(active); i++) {
        const char *other = json_get_text(json_at(active, i), "name");

        if (other != NULL && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* The name of the Job of the last time that was due, if it has not ended: it may
 * have been created a moment ago and not be in the status yet. NULL: none.
 */
static const char *
find_newest(struct kctl *kctl, const struct json *cron_job, struct arena *arena)
{
    const char *name = json_path_text(cron_job, "metadata.name");
    const char *zone_name = json_path_text(cron_job, "spec.timeZone");
    const char *text = json_path_text(cron_job, "spec.schedule");
    const int64_t now_s = clock_real_us(&clock_system) / SECOND_US;
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    char job_name[CRON_JOB_NAME_SIZE];
    struct cron_schedule schedule;
    struct target_object target;
    struct json *job = NULL;
    unsigned count;
    int64_t last_s;

    if (name == NULL || zone_name == NULL || text == NULL
        || time_zone_open(zone_name, &zone, NULL) < 0
        || cron_schedule_parse(text, &schedule, NULL) < 0)
        return NULL;
    last_s = cron_schedule_last_s(&schedule, zone, now_s - JUST_NOW_S, now_s, 1, &count);
    if (last_s == 0)
        return NULL;
    cron_job_name_job(name, last_s, job_name);
    target = target_of(kctl, &job_kind, job_name);
    if (kctl_find(kctl, &target, arena, &job, NULL) < 0 || job == NULL
        || json_path_text(job, "status.completionTime") != NULL)
        return NULL;
    return arena_strdup(arena, job_name);
}

int
cron_jobs_change(struct kctl *kctl, const char *const *names, size_t count,
                 enum cron_jobs_verb verb, struct arena *arena, char ***ret_jobs,
                 size_t *ret_n_jobs, struct error *err)
{
    char **jobs = NULL;
    size_t n_jobs = 0, capacity = 0;
    int result = kctl_open(kctl, err);

    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        const struct target_object object = target_of(kctl, &cron_job_kind, names[i]);
        const struct json *active = NULL;
        const char *last;
        struct error why = {0};
        struct json *held = NULL;
        int r = change(kctl, &object, verb, arena, &held, &why);

        active = json_get_path(held, "status.active");

        if (r < 0 && result == 0)
            result = error_set(err, r, "%s", why.text);
        else if (r < 0)
            fprintf(stderr, "kctl: %s\n", why.text);
        for (uint32_t k = 0; k < json_count(active); k++) {
            const char *name = json_get_text(json_at(active, k), "name");

            if (name == NULL)
                continue;
            xgrow(jobs, n_jobs, capacity);
            jobs[n_jobs++] = (char *)(uintptr_t)name;
        }
        last = verb == CRON_JOBS_CANCEL && r == 0 ? find_newest(kctl, held, arena) : NULL;
        if (last != NULL && !is_among(active, last)) {
            xgrow(jobs, n_jobs, capacity);
            jobs[n_jobs++] = (char *)(uintptr_t)last;
        }
    }
    *ret_jobs = arena_new_array(arena, char *, n_jobs + 1);
    if (n_jobs > 0)
        memcpy(*ret_jobs, jobs, n_jobs * sizeof(*jobs));
    *ret_n_jobs = n_jobs;
    free(jobs);
    return result;
}

/* ---- The table ---- */

static const char *
point(int64_t us, int64_t now_us, struct arena *arena)
{
    char text[LOCAL_TIME_SIZE];

    if (us <= 0)
        return "-";
    local_time_format_minute(us, now_us, text);
    return arena_strdup(arena, text);
}

/* "-": it is held, it never comes, or only the controller knows its time zone. */
static const char *
find_next(const struct json *spec, int64_t now_us, struct arena *arena)
{
    const char *zone_name = json_get_text(spec, "timeZone");
    const char *text = json_get_text(spec, "schedule");
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    struct cron_schedule schedule;

    if (json_is_true(json_get(spec, "suspend")) || zone_name == NULL || text == NULL
        || time_zone_open(zone_name, &zone, NULL) < 0
        || cron_schedule_parse(text, &schedule, NULL) < 0)
        return "-";
    return point(cron_schedule_next_s(&schedule, zone, now_us / SECOND_US) * SECOND_US, now_us,
                 arena);
}

static int64_t
last_of(const struct json *status)
{
    const char *text = json_get_text(status, "lastScheduleTime");
    int64_t us = 0;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

static void
add_row(struct grid *grid, const struct json *object, const char *user, int64_t now_us,
        struct arena *arena)
{
    const struct json *spec = json_get(object, "spec");
    const struct json *status = json_get(object, "status");
    const char *zone = json_get_text(spec, "timeZone");
    const char *const cells[] = {
        json_path_text(object, "metadata.name"),
        user,
        json_is_true(json_get(spec, "suspend")) ? "Held" : "Active",
        json_get_text(spec, "schedule"),
        zone != NULL ? zone : "-",
        point(last_of(status), now_us, arena),
        find_next(spec, now_us, arena),
        arena_printf(arena, "%u", (unsigned)json_count(json_get(status, "active"))),
    };

    grid_add_row(grid, cells);
}

int
cron_jobs_print(struct kctl *kctl, const struct cron_jobs_list *list, struct error *err)
{
    static const struct grid_column columns[] = {
        {.name = "Name", .least = 10},
        {.name = "User", .least = 4, .weight = 1},
        {.name = "State"},
        {.name = "Schedule", .least = 9},
        {.name = "Zone", .least = 4, .weight = 2},
        {.name = "Last"},
        {.name = "Next"},
        {.name = "Running", .is_right = true},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep) struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct target_object all = {.kind = &cron_job_kind, .namespace = list->namespace};
    const int64_t now_us = clock_real_us(&clock_system);
    struct json *items = NULL;
    int r = kctl_list(kctl, &all, NULL, NULL, arena, &items, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_styled(grid, &columns[i]);
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *object = json_at(items, i);
        const char *user =
            json_get_text(json_get_path(object, "metadata.annotations"), ANNOTATION_USER);

        /* One that is being deleted creates no Jobs. */
        if (json_path_text(object, "metadata.deletionTimestamp") != NULL)
            continue;
        if (list->user == NULL || (user != NULL && strcmp(user, list->user) == 0))
            add_row(grid, object, user, now_us, arena);
    }
    if (grid_rows(grid) == 0) {
        fprintf(stderr, "No CronJobs%s%s; 'ksub --cron' submits one\n",
                list->user != NULL ? " of user " : "", list->user != NULL ? list->user : "");
        return 0;
    }
    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    grid_sort(grid, 1);
    grid_print(grid, !list->no_headings, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}
