/* SPDX-License-Identifier: Apache-2.0 */
/* path_hints.h - files and directories of a job that this machine does not have
 *
 * A job whose output cannot be opened fails at its start and leaves no line
 * about it where its user looks. Nodes may have a directory that this machine
 * has not, so these are hints and never errors.
 *
 * Thread: any; asks the file system.
 */
#pragma once

struct strbuf;
struct submission;

/* Adds a line to `out` for --chdir, --input, --output and --error if the directory is missing on
 * this machine, or the user may not use it as the job will. Directories with a % in their name are
 * not looked at, because they depend on the job.
 */
void path_hints_add(const struct submission *s, struct strbuf *out);
