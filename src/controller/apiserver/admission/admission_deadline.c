/* SPDX-License-Identifier: Apache-2.0 */
/* admission_deadline.c - a job whose deadline has come, or comes before its time
 * limit is over, is refused where somebody can still mend it
 */
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/job/job.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

static int64_t
time_of(const struct json *tree, const char *path)
{
    const char *text = json_path_text(tree, path);
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

static int64_t
limit_of(const struct json *tree)
{
    return json_get_int(json_get_path(tree, "spec.template.spec"),
                        "activeDeadlineSeconds",
                        0);
}

/* An update is judged by what it changes, so that an old job can still be held,
 * released or renamed.
 */
static bool
is_as_before(const struct json *tree, const struct json *old)
{
    return time_of(tree, "spec.deadline") == time_of(old, "spec.deadline")
           && time_of(tree, "spec.beginTime") == time_of(old, "spec.beginTime")
           && limit_of(tree) == limit_of(old);
}

/* Of a job that runs, how long it has yet is its node's to know. */
static bool
is_to_start(const struct object *old_object)
{
    return old_object == NULL
           || job_state_words(job_find_state(job_of(old_object)))->class
                  == JOB_STATE_WAITS;
}

bool
deadline_admit(struct request *q,
               struct json *tree,
               const struct object *old_object)
{
    int64_t deadline_us = time_of(tree, "spec.deadline");
    int64_t from_us = clock_real_us(q->server->clock);
    int64_t limit_s = limit_of(tree);
    CLEANUP_STRBUF struct strbuf limit = STRBUF_INIT;
    const char *text = json_path_text(tree, "spec.deadline");

    if (deadline_us == 0 || q->route.subresource != SUBRESOURCE_NONE
        || (old_object != NULL
            && is_as_before(tree, request_old_tree(q, old_object))))
        return true;
    if (deadline_us <= from_us)
        return admission_refuse(
            q,
            tree,
            "Deadline",
            arena_printf(q->arena,
                         "the deadline %s is over; give a later one",
                         text));
    if (time_of(tree, "spec.beginTime") > from_us)
        from_us = time_of(tree, "spec.beginTime");
    if (!is_to_start(old_object)
        || from_us + limit_s * SECOND_US <= deadline_us)
        return true;
    if (limit_s > 0)
        duration_format(limit_s, &limit);
    return admission_refuse(
        q,
        tree,
        "Deadline",
        arena_printf(q->arena,
                     "%s%s before the deadline %s; ask for less time (-t), "
                     "an earlier begin or a later deadline",
                     limit_s > 0 ? "there is no room for the time limit of "
                                 : "the job may not begin",
                     limit_s > 0 ? limit.text : "",
                     text));
}
