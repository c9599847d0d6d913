/* SPDX-License-Identifier: Apache-2.0 */
/* A running program has received its command line, files and cores, so changing them
 * afterwards would only change what people read. A time limit may be lowered, since the node
 * can enforce a shorter one; and an agent that does not understand a change must not be sent
 * one.
 */
#include "controller/apiserver/objects/update_refusal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/job_placement.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* Whether the new limit is higher. No limit is higher than any. */
static bool
is_raised(const struct job *job, const struct json *spec)
{
    const int64_t *was = job->spec.template_.spec->active_deadline_seconds;
    const struct json *is = json_get(spec, "activeDeadlineSeconds");

    if (was == NULL)
        return false;
    return !json_is(is, JSON_NUMBER) || json_get_int(spec, "activeDeadlineSeconds", 0) > *was;
}

const char *
update_refusal(const struct apiserver *server, const struct principal *principal,
               const struct object *job, enum job_update what, const struct json *spec,
               struct arena *arena)
{
    struct job_placement p;

    if (job_is_finished(job_of(job)))
        return "it has ended already";
    if (job_is_array(job_of(job)))
        return NULL;
    p = job_placement_find(server, job,
                           what == JOB_UPDATE_LIMIT ? NODE_FEATURE_CHANGED_LIMIT : NULL);
    if (p.node == NULL)
        return NULL;
    if (what != JOB_UPDATE_LIMIT)
        return arena_printf(arena,
                            "it has a node already (%s), and what it was "
                            "placed with cannot change; only its time limit "
                            "can",
                            p.node);
    if (principal->type == PRINCIPAL_USER && is_raised(job_of(job), spec))
        return "it runs, and only operators and administrators raise the time "
               "limit of a running job; you may lower it";
    if (p.old_agent != NULL)
        return arena_printf(arena,
                            "the agent of node %s is of an earlier release, "
                            "and keeps the job's first time limit until the "
                            "agent is upgraded",
                            p.old_agent);
    return NULL;
}

const char *
update_refusal_of_warning(const struct json *spec, struct arena *arena)
{
    const int64_t before =
        json_get_int(json_get_path(spec, "execution.signal"), "secondsBefore", 0);
    const int64_t limit = json_get_int(spec, "activeDeadlineSeconds", 0);

    if (limit == 0 || before < limit)
        return NULL;
    return arena_printf(arena,
                        "its warning signal is sent %" PRId64
                        " s before its time limit, which would be %" PRId64 " s",
                        before, limit);
}
