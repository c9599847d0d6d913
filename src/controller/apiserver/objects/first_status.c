/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/first_status.h"

#include <stdbool.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/json/json.h"

/* Whether the status depends on nothing but the hold. */
static bool
is_plain(const struct json *spec, const struct json *annotations)
{
    const char *manager = json_get_text(spec, "managedBy");

    return (manager == NULL || strcmp(manager, MANAGED_BY_KILN) == 0)
           && json_get(spec, "array") == NULL && json_get(spec, "dependencies") == NULL
           && json_get_int(spec, "completions", 1) > 0
           && json_get(annotations, ANNOTATION_CANCEL) == NULL
           && json_get(annotations, ANNOTATION_FREEZE) == NULL
           && json_get(annotations, ANNOTATION_REQUEUE_BEFORE) == NULL;
}

static void
add_suspended(struct arena *arena, struct json *status, const char *now)
{
    struct json *conditions = json_array(arena);
    struct json *c = json_object(arena);

    json_set_string(arena, c, "type", "Suspended");
    json_set_string(arena, c, "status", "True");
    json_set_string(arena, c, "lastProbeTime", now);
    json_set_string(arena, c, "lastTransitionTime", now);
    json_set_string(arena, c, "reason", REASON_JOB_SUSPENDED);
    json_set_string(arena, c, "message", JOB_SUSPENDED_MESSAGE);
    json_append(arena, conditions, c);
    json_set(arena, status, "conditions", conditions);
}

void
first_status_set(struct arena *arena, struct json *job)
{
    const struct json *meta = json_get(job, "metadata");
    const struct json *annotations = json_get(meta, "annotations");
    const struct json *spec = json_get(job, "spec");
    const bool is_suspended = json_is_true(json_get(spec, "suspend"));
    struct json *status;

    if ((!is_suspended && json_get(annotations, ANNOTATION_HOLD) == NULL)
        || !is_plain(spec, annotations))
        return;
    status = json_make_object(arena, job, "status");
    if (is_suspended)
        add_suspended(arena, status, json_get_text(meta, "creationTimestamp"));
    json_set_string(arena, status, "state", job_state_words(JOB_STATE_HELD)->name);
}
