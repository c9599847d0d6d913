/* SPDX-License-Identifier: Apache-2.0 */
/* admission_requeue.c - no pod of a Job's earlier template remains after a
 * change
 *
 * A user may hold a Job, change it and release it before the job controller
 * sees the hold: the controller would find no hold, and a running pod. So the
 * change itself requeues the Job. A requeue that is under way is kept, even
 * when a request was made without knowing it: otherwise the pods that are being
 * ended would count as failures.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "lib/api/job/job.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static int64_t
number_of(const char *text)
{
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* Only a suspended Job's template can change here: validation refuses any other
 * difference, or it disappears once the defaults are set.
 */
static bool
changes_template(struct request *q, const struct json *tree, const struct object *old_object)
{
    const struct job *old = job_of(old_object);

    if (!old->spec.suspend && !json_is_true(json_get_path(tree, "spec.suspend")))
        return false;
    return !json_equals(json_get_path(tree, "spec.template"),
                        json_get_path(request_old_tree(q, old_object), "spec.template"));
}

/* When the job controller has seen the hold, no pod will remain. */
static bool
is_known_to_be_held(const struct job *job)
{
    return job->spec.suspend && job_find_condition(job, "Suspended") != NULL;
}

static void
at_least(int64_t *value, int64_t least)
{
    if (*value < least)
        *value = least;
}

bool
requeue_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct job *old = job_of(old_object);
    int64_t done = old->status.requeued;
    int64_t asked =
        number_of(string_map_find(&old_object->meta->annotations, ANNOTATION_REQUEUE_BEFORE));
    struct json *meta = json_make_object(q->arena, tree, "metadata");
    int64_t given =
        number_of(json_get_text(json_get(meta, "annotations"), ANNOTATION_REQUEUE_BEFORE));
    int64_t before = given;

    if (q->route.subresource != SUBRESOURCE_NONE || job_is_finished(old))
        return true;
    if (asked > done)
        at_least(&before, asked);
    if (changes_template(q, tree, old_object) && !is_known_to_be_held(old) && done < INT64_MAX) {
        at_least(&before, done + 1);
        at_least(&before, old->status.attempts);
    }
    if (before != given)
        json_set_string(q->arena, json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_REQUEUE_BEFORE, arena_printf(q->arena, "%" PRId64, before));
    return true;
}
