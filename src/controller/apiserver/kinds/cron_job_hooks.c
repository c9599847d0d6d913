/* SPDX-License-Identifier: Apache-2.0 */
/* cron_job_hooks.c - cron jobs keep the script and the environment of their jobs */
#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/objects/content.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "lib/api/cron/cron_job.h"
#include "lib/api/object/kind.h"

static bool
removed(struct request *q, struct store_txn *txn, const struct object *object,
        const struct json *tree)
{
    (void)q;
    (void)tree;
    content_release(txn, &cron_job_of(object)->spec.job_template.spec);
    return true;
}

static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    if (!user_counts_measure(object, ret_uid, ret_count))
        return false;
    ret_count->bytes += content_bytes(&cron_job_of(object)->spec.job_template.spec);
    return true;
}

const struct kind_hooks cron_job_hooks = {
    .kind = &cron_job_kind,
    .brings_content = true,
    .removed = removed,
    .measure = measure,
};
