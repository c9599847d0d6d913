/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/job_owner.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/api/object/meta.h"
#include "lib/json/json.h"

bool
job_owner_is_self(const struct json *job)
{
    const char *uid = json_get_text(json_get_path(job, "metadata.annotations"), ANNOTATION_UID);

    return uid != NULL && strtoll(uid, NULL, 10) == (long long)getuid();
}

const char *
job_owner_name(const struct json *job)
{
    const char *user = json_get_text(json_get_path(job, "metadata.annotations"), ANNOTATION_USER);

    return user != NULL ? user : "another user";
}
