/* SPDX-License-Identifier: Apache-2.0 */
/* job_environment.h - the environment variables that are sent with a job
 *
 * --export is ALL (the default), NONE, or a list of names and NAME=value, which
 * may include ALL; values with commas are quoted. The variables that an outer
 * job got from its agent are omitted.
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct error;
struct strbuf;
struct submission;

/* NAME=value entries, each followed by a NUL. */
void job_environment(const struct submission *submission, char *const *environment,
                     struct strbuf *out);

/* The entries of a file, or of an open file descriptor ("3"), each NAME=value and a NUL; an
 * array in the arena that ends with NULL.
 */
int job_environment_read(const char *file, struct arena *arena, char ***ret_entries,
                         struct error *err);

/* -EINVAL if the list of --export has an item without a name. */
int job_environment_check(const char *list, struct error *err);
