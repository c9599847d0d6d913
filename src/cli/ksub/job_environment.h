/* SPDX-License-Identifier: Apache-2.0 */
/* job_environment.h - the environment variables that go to a job
 *
 * --export is ALL (the default), NONE, or a list of names and NAME=value, which
 * may include ALL; values with commas are quoted. The variables that an outer
 * job got from its agent are left out.
 *
 * Thread: any.
 */
#pragma once

struct strbuf;
struct submission;

/* NAME=value entries, each ended by a NUL; `directory` is where it will run. */
void job_environment(const struct submission *submission,
                     char *const *environment,
                     struct strbuf *out);
