/* SPDX-License-Identifier: Apache-2.0 */
/* admission_eligible.c - when a job or pod first became eligible, which keeps
 * its place in the queue over restarts of the controller
 *
 * That is the time of its creation, of the release of a held or gated one, or
 * its begin time. No client may set it: a user who holds jobs with low numbers
 * back does not get ahead of those that waited meanwhile. Also here: a job is
 * refused when its deadline has passed or comes before the end of its time
 * limit, because now somebody can still correct that; and a CronJob is refused
 * when its schedule never comes, which upstream accepts.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/cron/cron_schedule.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

static bool
has_hold(const struct json *tree, const char *annotation)
{
    return json_get(json_get_path(tree, "metadata.annotations"), annotation) != NULL;
}

static bool
had_hold(const struct object *object, const char *annotation)
{
    return string_map_find(&object->meta->annotations, annotation) != NULL;
}

static bool
is_held_pod(const struct json *tree)
{
    return has_hold(tree, ANNOTATION_HOLD)
           || json_count(json_get_path(tree, "spec.schedulingGates")) > 0;
}

static bool
was_held_pod(const struct object *pod)
{
    return had_hold(pod, ANNOTATION_HOLD) || pod_of(pod)->spec.scheduling_gates.count > 0;
}

static bool
is_held_job(const struct json *tree)
{
    return has_hold(tree, ANNOTATION_HOLD) || has_hold(tree, ANNOTATION_FREEZE)
           || json_is_true(json_get_path(tree, "spec.suspend"));
}

static bool
was_held_job(const struct object *job)
{
    return had_hold(job, ANNOTATION_HOLD) || had_hold(job, ANNOTATION_FREEZE)
           || job_of(job)->spec.suspend;
}

/* Returns 0 when there is no time. */
static int64_t
time_of(const struct json *tree, const char *path)
{
    const char *text = json_path_text(tree, path);
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

static void
set_eligible(struct request *q, struct json *tree, const char *text)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");

    if (text != NULL)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_ELIGIBLE_AT, text);
    else if (json_get(meta, "annotations") != NULL)
        json_remove(json_get(meta, "annotations"), ANNOTATION_ELIGIBLE_AT);
}

/* Released: it was held before, and is not any more. */
static bool
admit(struct request *q, struct json *tree, const struct object *old_object, bool is_released)
{
    int64_t at_us = clock_real_us(q->server->clock);
    char text[TIME_TEXT_SIZE];

    if (old_object == NULL ? q->principal->type == PRINCIPAL_LIFECYCLE
                           : q->route.subresource != SUBRESOURCE_NONE)
        return true;
    if (old_object != NULL && !is_released) {
        set_eligible(q, tree,
                     string_map_find(&old_object->meta->annotations, ANNOTATION_ELIGIBLE_AT));
        return true;
    }
    if (time_of(tree, "spec.beginTime") > at_us)
        at_us = time_of(tree, "spec.beginTime");
    time_format(at_us, true, text);
    set_eligible(q, tree, text);
    return true;
}

bool
pod_eligible_time_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit(q, tree, old_object,
                 old_object != NULL && was_held_pod(old_object) && !is_held_pod(tree));
}

/* A Job may also get another time to begin. */
bool
job_eligible_time_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit(q, tree, old_object,
                 old_object != NULL
                     && (job_of(old_object)->spec.begin_at_us != time_of(tree, "spec.beginTime")
                         || (was_held_job(old_object) && !is_held_job(tree))));
}

/* ---- The deadline ---- */

static int64_t
limit_of(const struct json *tree)
{
    return json_get_int(json_get_path(tree, "spec.template.spec"), "activeDeadlineSeconds", 0);
}

/* Updates are checked only if they change one of these, so that an old job can
 * still be held, released or renamed.
 */
static bool
is_as_before(const struct json *tree, const struct json *old)
{
    return time_of(tree, "spec.deadline") == time_of(old, "spec.deadline")
           && time_of(tree, "spec.beginTime") == time_of(old, "spec.beginTime")
           && limit_of(tree) == limit_of(old);
}

/* Only the node of a running job knows how much time the job has left. */
static bool
is_to_start(const struct object *old_object)
{
    return old_object == NULL
           || job_state_words(job_find_state(job_of(old_object)))->class == JOB_STATE_WAITS;
}

bool
deadline_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    int64_t deadline_us = time_of(tree, "spec.deadline");
    int64_t from_us = clock_real_us(q->server->clock);
    int64_t limit_s = limit_of(tree);
    CLEANUP_STRBUF struct strbuf limit = STRBUF_INIT;
    const char *text = json_path_text(tree, "spec.deadline");

    if (deadline_us == 0 || q->route.subresource != SUBRESOURCE_NONE
        || (old_object != NULL && is_as_before(tree, request_old_tree(q, old_object))))
        return true;
    if (deadline_us <= from_us)
        return admission_refuse(
            q, tree, "Deadline",
            arena_printf(q->arena, "the deadline %s is in the past; give a later one", text));
    if (time_of(tree, "spec.beginTime") > from_us)
        from_us = time_of(tree, "spec.beginTime");
    if (!is_to_start(old_object) || from_us + limit_s * SECOND_US <= deadline_us)
        return true;
    if (limit_s > 0)
        duration_format(limit_s, &limit);
    return admission_refuse(q, tree, "Deadline",
                            arena_printf(q->arena,
                                         "%s%s before the deadline %s; ask for less time (-t), "
                                         "an earlier begin or a later deadline",
                                         limit_s > 0 ? "there is not enough time for the time "
                                                       "limit of "
                                                     : "the job cannot start",
                                         limit_s > 0 ? limit.text : "", text));
}

/* A CronJob with such a schedule that an earlier release accepted can still be
 * updated.
 */
bool
schedule_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const char *text = json_path_text(tree, "spec.schedule");
    const char *old = old_object != NULL
                          ? json_path_text(request_old_tree(q, old_object), "spec.schedule")
                          : NULL;
    struct cron_schedule schedule;

    if (text == NULL || (old != NULL && strcmp(old, text) == 0)
        || cron_schedule_parse(text, &schedule, NULL) < 0 || cron_schedule_can_come(&schedule))
        return true;
    return admission_refuse(
        q, tree, "Schedule",
        arena_printf(q->arena, "'%.80s' never occurs: none of its months has that day", text));
}
