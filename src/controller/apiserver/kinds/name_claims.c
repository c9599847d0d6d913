/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/kinds/name_claims.h"

#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/arena.h"

/* The object whose name is the part of this one before `end`. */
static const struct object *
find_before(const struct request *q, const struct kind *kind, const char *name, const char *end)
{
    return store_find(q->server->store, STORE_PENDING, kind, q->route.namespace,
                      arena_printf(q->arena, "%.*s", (int)(end - name), name));
}

static bool
is_of_another(const struct request *q, const struct object *object)
{
    uid_t uid;

    return object != NULL && object_owner(object, &uid) && uid != q->principal->uid;
}

static bool
is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Another user's CronJob, if one of its Jobs could have this name. */
static bool
find_recurring(const struct request *q, const char *name, struct name_claim *ret_claim)
{
    const char *dash = strrchr(name, '-');
    const struct object *cron_job;

    if (dash == NULL || !is_number(dash + 1))
        return false;
    cron_job = find_before(q, &cron_job_kind, name, dash);
    if (!is_of_another(q, cron_job))
        return false;
    *ret_claim = (struct name_claim){.by = cron_job, .what = "jobs", .begins_so = true};
    return true;
}

/* The Job of which one of the later attempts would have this name: job-1042-r1. */
static const struct object *
find_repeated(const struct request *q, const char *name)
{
    const char *attempt = strrchr(name, '-');

    return attempt != NULL && attempt[1] == 'r' && is_number(attempt + 2)
               ? find_before(q, &job_kind, name, attempt)
               : NULL;
}

/* Another user's Job, if its PodGroup would have this name, or his CronJob, if
 * that of one of its Jobs would.
 */
bool
name_claims_find_of_group(const struct request *q, const char *name, struct name_claim *ret_claim)
{
    const struct object *job =
        store_find(q->server->store, STORE_PENDING, &job_kind, q->route.namespace, name);

    if (job == NULL)
        job = find_repeated(q, name);
    if (!is_of_another(q, job))
        return find_recurring(q, name, ret_claim);
    *ret_claim = (struct name_claim){.by = job, .what = "PodGroup"};
    return true;
}

/* Another user's Job, if the PodGroup of a Job of this name would be in the way of one of
 * its attempts, or his CronJob.
 */
bool
name_claims_find_of_job(const struct request *q, const char *name, struct name_claim *ret_claim)
{
    const struct object *job = find_repeated(q, name);

    if (!is_of_another(q, job) || job_gang_size(job_of(job)) == 0)
        return find_recurring(q, name, ret_claim);
    *ret_claim = (struct name_claim){.by = job, .what = "PodGroup"};
    return true;
}

/* Another user's Job, if one of its pods or their claims could have this name. */
bool
name_claims_find_of_pod(const struct request *q, const char *name, struct name_claim *ret_claim)
{
    for (const char *dash = strchr(name, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        size_t digits = strspn(dash + 1, "0123456789");
        const struct object *job;

        if (digits == 0 || (dash[1 + digits] != '\0' && dash[1 + digits] != '-'))
            continue;
        job = find_before(q, &job_kind, name, dash);
        if (!is_of_another(q, job))
            continue;
        *ret_claim = (struct name_claim){.by = job, .what = "pods", .begins_so = true};
        return true;
    }
    return false;
}
