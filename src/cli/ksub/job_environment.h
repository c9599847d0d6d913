/* SPDX-License-Identifier: Apache-2.0 */
/* job_environment.h - the variables that go along with a job
 *
 * --export: ALL (also when nothing is said), NONE, or a list of names and
 * NAME=value, with ALL among them or not; values with commas in quotes. What
 * a job around this one got from its agent is left out.
 */
#pragma once

struct strbuf;
struct submission;

/* NAME=value entries, each ended by a NUL; `directory` is where it will run. */
void job_environment(const struct submission *submission,
                     char *const *environment,
                     struct strbuf *out);
