/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_job.h - what libpmix tells the tasks about their step
 *
 * Thread: the main one, which waits for libpmix's.
 */
#pragma once

#include <pmix_server.h>

struct error;
struct step_grant;
struct strbuf;

struct pmix_job {
    const struct step_grant *grant;
    const char *space;     /* the name of the namespace, which nobody can guess */
    const char *directory; /* of this step only */
};

/* Starts libpmix's server and makes the step known. *variables gets those that the tasks
 * need, "NAME=value" with NUL.
 */
int pmix_job_begin(const struct pmix_job *job, struct strbuf *variables, struct error *err);
void pmix_job_end(const struct pmix_job *job);
