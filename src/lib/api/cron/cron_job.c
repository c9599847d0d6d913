/* SPDX-License-Identifier: Apache-2.0 */
/* cron_job.c - the kind CronJob
 *
 * Source: k8s.io/kubernetes/pkg/apis/batch, pkg/registry/batch/cronjob and
 * pkg/printers of 1.32.
 */
#include "lib/api/cron/cron_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/api/cron/cron_schedule.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_rules.h"
#include "lib/api/job/job_strategy.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/object/table.h"
#include "lib/api/pod/pod_strategy.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/rows.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/time_zone.h"
#include "lib/json/json.h"

#define NAME_MAX_LENGTH 52 /* '-' and minutes make it a Job's name */

/* clang-format off */
static const struct field job_template_fields[] = {
    OPAQUE_OBJECT("metadata", meta, ALWAYS,
        HELP("Labels and annotations of the Jobs.")),
    OBJECT("spec", job_template, spec, job_spec, ALWAYS,
        HELP("The specification of the Jobs.")),
};
static RECORD(job_template, job_template, "io.k8s.api.batch.v1.JobTemplateSpec",
       MESSAGE("metadata spec"),
       HELP("A template for Jobs."));

static const struct field cron_job_spec_fields[] = {
    STRING("schedule", cron_job_spec, schedule, ALWAYS | REQUIRED,
        HELP("When: minute, hour, day, month and weekday as in cron, or "
             "@hourly, @daily, @weekly, @monthly, @yearly.")),
    STRING("timeZone", cron_job_spec, time_zone, KEPT,
        HELP("The time zone of the schedule: \"Europe/Berlin\"; the default "
             "is the controller's.")),
    INT64("startingDeadlineSeconds", cron_job_spec, starting_deadline_s,
        OPTIONAL, HELP("How late a Job may still be started.")),
    STRING("concurrencyPolicy", cron_job_spec, concurrency_policy, 0,
        ONE_OF("Allow", "Forbid", "Replace"),
        HELP("What happens while an earlier Job still runs: Allow, Forbid "
             "or Replace.")),
    BOOL("suspend", cron_job_spec, suspend, KEPT,
        HELP("Whether the creation of Jobs is suspended.")),
    OBJECT("jobTemplate", cron_job_spec, job_template, job_template,
        ALWAYS | REQUIRED, HELP("The Jobs to create.")),
    INT("successfulJobsHistoryLimit", cron_job_spec, successful_jobs_limit,
        OPTIONAL, HELP("How many Jobs that succeeded are kept.")),
    INT("failedJobsHistoryLimit", cron_job_spec, failed_jobs_limit, OPTIONAL,
        HELP("How many Jobs that failed are kept.")),
};
static RECORD(cron_job_spec, cron_job_spec, "io.k8s.api.batch.v1.CronJobSpec",
       MESSAGE("schedule startingDeadlineSeconds concurrencyPolicy suspend "
               "jobTemplate successfulJobsHistoryLimit "
               "failedJobsHistoryLimit timeZone"),
       HELP("Which Jobs are created, and when."));

static const struct field cron_job_status_fields[] = {
    OBJECTS("active", cron_job_status, active, object_reference, 0,
        HELP("Its Jobs that have not ended.")),
    TIME("lastScheduleTime", cron_job_status, last_schedule_at_us, KEPT,
        HELP("When a Job was last due and created.")),
    TIME("lastSuccessfulTime", cron_job_status, last_successful_at_us, KEPT,
        HELP("When a Job last succeeded.")),
};
static RECORD(cron_job_status, cron_job_status,
       "io.k8s.api.batch.v1.CronJobStatus",
       MESSAGE("active 4 lastScheduleTime lastSuccessfulTime"),
       HELP("The state of the schedule."));

static const struct field cron_job_fields[] = {
    TYPE_META,
    METADATA(cron_job),
    OBJECT("spec", cron_job, spec, cron_job_spec, ALWAYS,
        HELP("Desired state.")),
    OBJECT("status", cron_job, status, cron_job_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(cron_job, cron_job, "io.k8s.api.batch.v1.CronJob",
       MESSAGE("metadata spec status"),
       HELP("Creates Jobs repeatedly, by a schedule."));
/* clang-format on */

const struct cron_job *
cron_job_of(const struct object *object)
{
    return object->view;
}

void
cron_job_name_job(const char *name, int64_t at_s, char out[CRON_JOB_NAME_SIZE])
{
    snprintf(out, CRON_JOB_NAME_SIZE, "%.260s-%" PRId64, name, at_s / 60);
}

int64_t
cron_job_time_of_name_s(const char *name, const char *job_name)
{
    size_t length = strlen(name);
    const char *digits = job_name + length + 1;

    if (strncmp(job_name, name, length) != 0 || job_name[length] != '-' || digits[0] == '0'
        || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) < 1
        || strlen(digits) > 12)
        return 0;
    return strtoll(digits, NULL, 10) * 60;
}

/* --- from a request to the store ------------------------------------------ */

static void
default_to(struct arena *arena, struct json *spec, const char *name, struct json *value)
{
    if (!check_is_set(spec, name))
        json_set(arena, spec, name, value);
}

static void
set_defaults(struct arena *arena, struct json *object)
{
    struct json *spec = json_make_object(arena, object, "spec");
    struct json *template = json_make_object(arena, spec, "jobTemplate");
    struct json *job = json_make_object(arena, template, "spec");
    struct json *pods = json_make_object(arena, job, "template");

    default_to(arena, spec, "concurrencyPolicy", json_string(arena, "Allow"));
    default_to(arena, spec, "suspend", json_bool(arena, false));
    default_to(arena, spec, "successfulJobsHistoryLimit", json_int(arena, 3));
    default_to(arena, spec, "failedJobsHistoryLimit", json_int(arena, 1));
    if (job_array_is_asked(job))
        job_array_set_defaults(arena, job);
    job_policy_set_defaults(arena, job);
    pod_spec_set_defaults(arena, json_make_object(arena, pods, "spec"));
}

#define POD_PATH "spec.jobTemplate.spec.template.spec"

static void
prepare(struct arena *arena, struct json *object, const struct json *old)
{
    struct json *status = json_get(old, "status");

    meta_prepare(arena, object, old);
    pod_spec_drop_disabled(arena, json_get_path(object, POD_PATH), json_get_path(old, POD_PATH));
    json_set(arena, object, "status", status != NULL ? status : json_object(arena));
}

static void
check_schedule(struct causes *c, const struct json *spec, const struct json *old)
{
    const char *text = check_text(spec, "schedule");
    const struct json *shown = json_get(spec, "schedule");
    bool may_say_zone = old != NULL && strstr(check_text(old, "schedule"), "TZ") != NULL;
    struct cron_schedule schedule;
    struct error err = {0};

    if (*text == '\0') {
        causes_add(c, CAUSE_REQUIRED, "schedule", NULL, "%s", "");
        return;
    }
    if (cron_schedule_parse(text, &schedule, &err) < 0)
        causes_add(c, CAUSE_INVALID, "schedule", shown, "%s", err.text);
    if (strstr(text, "TZ") == NULL)
        return;
    if (!may_say_zone)
        causes_add(c, CAUSE_INVALID, "schedule", shown,
                   "cannot use TZ or CRON_TZ in schedule, use timeZone field "
                   "instead");
    else if (json_get(spec, "timeZone") != NULL)
        causes_add(c, CAUSE_INVALID, "schedule", shown,
                   "cannot use both timeZone field and TZ or CRON_TZ in "
                   "schedule");
}

static void
check_time_zone(struct causes *c, const struct json *spec, const struct json *old)
{
    const struct json *shown = json_get(spec, "timeZone");
    const char *name = json_text(shown);
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    struct error err = {0};

    if (name == NULL || (old != NULL && json_equals(shown, json_get(old, "timeZone"))))
        return;
    if (*name == '\0') {
        causes_add(c, CAUSE_INVALID, "timeZone", shown, "timeZone must be nil or non-empty string");
        return;
    }
    if (strcasecmp(name, "Local") == 0)
        causes_add(c, CAUSE_INVALID, "timeZone", shown,
                   "timeZone must be an explicit time zone as defined in "
                   "https://www.iana.org/time-zones");
    else if (time_zone_open(name, &zone, &err) < 0)
        causes_add(c, CAUSE_INVALID, "timeZone", shown, "%s", err.text);
}

static void
check_template(struct causes *c, const struct json *spec)
{
    const struct json *job = json_get_path(spec, "jobTemplate.spec");
    unsigned at = causes_enter(c, "jobTemplate.spec");

    job_template_spec_check(c, job);
    if (json_get(job, "selector") != NULL)
        causes_add(c, CAUSE_INVALID, "selector", json_get(job, "selector"),
                   "`selector` will be auto-generated");
    if (json_is_true(json_get(job, "manualSelector")))
        causes_add(c, CAUSE_NOT_SUPPORTED, "manualSelector", json_get(job, "manualSelector"),
                   "supported values: \"nil\", \"false\"");
    causes_leave(c, at);
}

static void
validate(struct causes *c, const struct json *object, const struct json *old)
{
    const struct json *spec = json_get(object, "spec");
    const struct json *old_spec = json_get(old, "spec");
    const struct json *name = json_get_path(object, "metadata.name");
    unsigned at;

    meta_check(c, &cron_job_kind, NAME_DNS_SUBDOMAIN, object, old);
    at = causes_enter(c, "spec");
    check_schedule(c, spec, old_spec);
    check_not_negative(c, spec, "startingDeadlineSeconds");
    check_time_zone(c, spec, old_spec);
    check_given_one_of(c, spec, "concurrencyPolicy", CHECK_VALUES("Allow", "Forbid", "Replace"));
    check_template(c, spec);
    check_not_negative(c, spec, "successfulJobsHistoryLimit");
    check_not_negative(c, spec, "failedJobsHistoryLimit");
    causes_leave(c, at);
    if (old == NULL && json_text(name) != NULL && strlen(name->text) > NAME_MAX_LENGTH)
        causes_add(c, CAUSE_INVALID, "metadata.name", name, "must be no more than %d characters",
                   NAME_MAX_LENGTH);
}

static void
validate_status(struct causes *c, const struct json *object, const struct json *old)
{
    meta_check(c, &cron_job_kind, NAME_DNS_SUBDOMAIN, object, old);
}

static void
warn(struct causes *c, const struct json *object, const struct json *old)
{
    const char *name = check_text(json_get(object, "metadata"), "name");
    const char *why = name_refuse_all(c->arena, NAME_DNS_LABEL, name, " ");
    unsigned at;

    if (old == NULL && why != NULL)
        causes_warn(c, "metadata.name",
                    "this is used in Pod names and hostnames, which can "
                    "result in surprising behavior; a DNS label is "
                    "recommended: [%s]",
                    why);
    if (old != NULL && json_equals(json_get_path(object, POD_PATH), json_get_path(old, POD_PATH)))
        return;
    at = causes_enter(c, "spec.jobTemplate.spec.template");
    pod_warn(c, json_get_path(object, "spec.jobTemplate.spec.template"));
    causes_leave(c, at);
}

static void
redact(struct arena *arena, struct json *object)
{
    meta_redact(arena, object);
    job_spec_redact(arena, json_get_path(object, "spec.jobTemplate.spec"));
}

/* --- the table ------------------------------------------------------------ */

static void
add_schedule(struct table_row *row)
{
    table_cell(row, cron_job_of(row->object)->spec.schedule);
}

static void
add_time_zone(struct table_row *row)
{
    const char *zone = cron_job_of(row->object)->spec.time_zone;

    table_cell(row, zone != NULL ? zone : "<none>");
}

static void
add_suspend(struct table_row *row)
{
    table_cell(row, cron_job_of(row->object)->spec.suspend ? "True" : "False");
}

static void
add_active(struct table_row *row)
{
    table_cell_int(row, cron_job_of(row->object)->status.active.count);
}

static void
add_last_schedule(struct table_row *row)
{
    int64_t at_us = cron_job_of(row->object)->status.last_schedule_at_us;

    if (at_us != 0)
        table_cell_age(row, at_us);
    else
        table_cell(row, "<none>");
}

static void
add_each(struct table_row *row, bool wants_image)
{
    const struct pod_spec *spec = cron_job_of(row->object)->spec.job_template.spec.template_.spec;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (unsigned i = 0; spec != NULL && i < spec->containers.count; i++) {
        const char *value =
            wants_image ? spec->containers.items[i].image : spec->containers.items[i].name;

        strbuf_printf(&text, "%s%s", i > 0 ? "," : "", value != NULL ? value : "");
    }
    table_cell(row, text.text);
}

static void
add_containers(struct table_row *row)
{
    add_each(row, false);
}

static void
add_images(struct table_row *row)
{
    add_each(row, true);
}

static void
add_selector(struct table_row *row)
{
    table_cell(row, "<none>"); /* a template has no selector */
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Schedule", add_schedule, "When its Jobs are created."),
    COLUMN("Timezone", add_time_zone, "The time zone of the schedule."),
    COLUMN("Suspend", add_suspend, "Whether the creation of Jobs is suspended.",
        BOOLEAN),
    COLUMN("Active", add_active, "Its Jobs that have not ended.", INTEGER),
    COLUMN("Last Schedule", add_last_schedule, "The time since the last Job "
                                               "was created."),
    TABLE_AGE,
    COLUMN("Containers", add_containers, "The names of its containers.", WIDE),
    COLUMN("Images", add_images, "The images of its containers.", WIDE),
    COLUMN("Selector", add_selector, "The labels by which its pods are found.",
        WIDE),
};
/* clang-format on */

static const struct table table = {TABLE_COLUMNS(columns)};

/* --- the kind ------------------------------------------------------------- */

/* As for Jobs: users own their CronJobs; operators suspend and remove those of
 * others but do not see what they run.
 */
/* clang-format off */
static const struct right rights[] = {
    {BY_OPERATOR, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_OWN},
};
/* clang-format on */

static const char *const operator_fields[] = {
    "metadata.annotations",
    "metadata.labels",
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.generation",
    "spec.suspend",
    NULL,
};

const struct kind cron_job_kind = {
    .group = "batch",
    .version = "v1",
    .api_version = "batch/v1",
    .name = "CronJob",
    .list_name = "CronJobList",
    .plural = "cronjobs",
    .singular = "cronjob",
    .short_names = (const char *const[]){"cj", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_GENERATION
             | KIND_SPEC_DEFAULTS,
    .pod_spec = "spec.jobTemplate.spec.template.spec",
    .content = "spec.jobTemplate.spec",
    .record = &cron_job_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .validate_status = validate_status,
    .warn = warn,
    .redact = redact,
    .table = &table,
    KIND_RIGHTS(rights),
    .operator_fields = operator_fields,
};
