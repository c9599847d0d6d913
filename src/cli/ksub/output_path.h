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

/* -EINVAL, or -EOPNOTSUPP for a pattern that Kiln does not have yet. */
int output_path_check(const char *path, struct error *err);
