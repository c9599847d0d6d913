/* SPDX-License-Identifier: Apache-2.0 */
/* output_path.h - checks a path with patterns that a job reads or writes
 *
 * The agent replaces "%j" and its like. A pattern it does not know would stay
 * in the name and surprise the user, so it is refused here.
 *
 * Thread: any.
 */
#pragma once

struct error;

/* -EINVAL, in words that name the patterns there are. */
int output_path_check(const char *path, struct error *err);
