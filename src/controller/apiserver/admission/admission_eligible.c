/* SPDX-License-Identifier: Apache-2.0 */
/* admission_eligible.c - when a job or pod could have been placed first, which
 * is its place in the queue over restarts of the controller
 *
 * Its creation; the release of one that was held or gated; the time that it is
 * to begin at. Nobody's to write: who holds early numbers back comes behind
 * those that waited meanwhile.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"

static bool
is_held(const struct request *q, const struct json *tree)
{
    const struct json *notes = json_get_path(tree, "metadata.annotations");

    if (json_get(notes, ANNOTATION_HOLD) != NULL)
        return true;
    if (q->route.kind == &job_kind)
        return json_is_true(json_get_path(tree, "spec.suspend"))
               || json_get(notes, ANNOTATION_FREEZE) != NULL;
    return json_count(json_get_path(tree, "spec.schedulingGates")) > 0;
}

static bool
was_held(const struct object *old_object)
{
    const struct string_map *notes = &old_object->meta->annotations;

    if (string_map_find(notes, ANNOTATION_HOLD) != NULL)
        return true;
    if (old_object->kind == &job_kind)
        return job_of(old_object)->spec.suspend
               || string_map_find(notes, ANNOTATION_FREEZE) != NULL;
    return pod_of(old_object)->spec.scheduling_gates.count > 0;
}

/* 0: at once. What an update leaves out stays. */
static int64_t
begin_of(const struct json *tree, const struct object *old_object)
{
    const char *text = json_path_text(tree, "spec.beginTime");
    int64_t us = 0;

    if (text != NULL && time_parse(text, &us) == 0)
        return us;
    return old_object != NULL && old_object->kind == &job_kind
               ? job_of(old_object)->spec.begin_at_us
               : 0;
}

static bool
begins_as_before(const struct json *tree, const struct object *old_object)
{
    return old_object->kind != &job_kind
           || job_of(old_object)->spec.begin_at_us
                  == begin_of(tree, old_object);
}

static void
set_eligible(struct request *q, struct json *tree, const char *text)
{
    struct json *meta = json_make_object(q->arena, tree, "metadata");

    if (text != NULL)
        json_set_string(q->arena,
                        json_make_object(q->arena, meta, "annotations"),
                        ANNOTATION_ELIGIBLE_AT,
                        text);
    else if (json_get(meta, "annotations") != NULL)
        json_remove(json_get(meta, "annotations"), ANNOTATION_ELIGIBLE_AT);
}

bool
eligible_time_admit(struct request *q,
                    struct json *tree,
                    const struct object *old_object)
{
    int64_t at_us = clock_real_us(q->server->clock);
    char text[TIME_TEXT_SIZE];

    if (old_object == NULL ? q->principal->type == PRINCIPAL_LIFECYCLE
                           : q->route.subresource != SUBRESOURCE_NONE)
        return true;
    if (old_object != NULL && begins_as_before(tree, old_object)
        && !(was_held(old_object) && !is_held(q, tree))) {
        set_eligible(q,
                     tree,
                     string_map_find(&old_object->meta->annotations,
                                     ANNOTATION_ELIGIBLE_AT));
        return true;
    }
    if (begin_of(tree, old_object) > at_us)
        at_us = begin_of(tree, old_object);
    time_format(at_us, true, text);
    set_eligible(q, tree, text);
    return true;
}
