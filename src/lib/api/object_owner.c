/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object_owner.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/api/cron/cron_job.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"

/* A decimal uid, as admission, or the controller for a pod's user, wrote it. */
static bool
parse_uid(const char *text, uid_t *ret_uid)
{
    char *end;
    unsigned long value;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || *end != '\0' || value >= (uid_t)-1)
        return false;
    *ret_uid = (uid_t)value;
    return true;
}

static const struct security_context *
cron_job_context(const struct cron_job *cron_job)
{
    const struct pod_spec *spec = cron_job->spec.job_template.spec.template_.spec;

    return spec != NULL ? spec->security_context : NULL;
}

bool
object_owner(const struct object *object, uid_t *ret_uid)
{
    const struct security_context *context = NULL;

    if (object->kind == &persistent_volume_claim_kind || object->kind == &config_map_kind
        || object->kind == &lease_kind || object->kind == &event_kind
        || object->kind == &pod_group_kind)
        return parse_uid(string_map_find(&object->meta->annotations, ANNOTATION_UID), ret_uid);
    if (object->kind == &pod_kind)
        context = pod_of(object)->spec.security_context;
    else if (object->kind == &job_kind && job_of(object)->spec.template_.spec != NULL)
        context = job_of(object)->spec.template_.spec->security_context;
    else if (object->kind == &cron_job_kind)
        context = cron_job_context(cron_job_of(object));
    if (context == NULL || context->run_as_user == NULL)
        return false;
    *ret_uid = (uid_t)*context->run_as_user;
    return true;
}

bool
object_owner_is_same(const struct object *a, const struct object *b)
{
    uid_t one, other;

    return !object_owner(a, &one) || !object_owner(b, &other) || one == other;
}
