/* SPDX-License-Identifier: Apache-2.0 */
/* pod_group_hooks.c - the group that Kiln makes for a job counts with the job */
#include <string.h>

#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"

/* A PodGroup may name a Job of its user, but only one has the name of that Job.
 */
static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    const struct owner_reference *job = meta_controller_of(object->meta, &job_kind);

    if (!user_counts_measure(object, ret_uid, ret_count))
        return false;
    if (job != NULL && job->name != NULL && strcmp(job->name, object->meta->name) == 0)
        user_counts_measure_derived(object, ret_count);
    return true;
}

const struct kind_hooks pod_group_hooks = {
    .kind = &pod_group_kind,
    .measure = measure,
};
