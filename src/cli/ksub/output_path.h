/* SPDX-License-Identifier: Apache-2.0 */
/* output_path.h - where a job reads and writes: a path with patterns
 *
 * The agent replaces "%j" and its like. What it does not know would stay in
 * the name and surprise, so it is refused here.
 */
#pragma once

struct error;

/* -EINVAL, or -EOPNOTSUPP for what is to come. */
int output_path_check(const char *path, struct error *err);
