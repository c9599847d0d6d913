/* SPDX-License-Identifier: Apache-2.0 */
/* output_path.h - checks a path with patterns that a job reads or writes
 *
 * The agent replaces patterns such as "%j". A pattern that the agent does not
 * know would stay in the file's name, so it is refused here.
 *
 * Thread: any.
 */
#pragma once

struct error;

/* -EINVAL, with a text that lists the valid patterns. */
int output_path_check(const char *path, struct error *err);
