/* SPDX-License-Identifier: Apache-2.0 */
/* removal.h - a directory and all that is below it, gone
 *
 * Never follows a link, needs two descriptors however deep the tree is, and
 * detaches what was mounted inside.
 *
 * Thread: any; blocks for as long as it takes.
 */
#pragma once

#include <stdint.h>

/* Name: a directory in `parent`, nobody's but ours to write to; what is in it
 * may be anybody's. Its subdirectories are moved up into it and emptied one
 * after the other, each taken over first (as root), so that nobody who is still
 * inside adds to it. -ENOENT is no failure. Within: -EAGAIN when the time is up
 * before all is gone; what is left is gone on with by another call.
 */
int removal_run(int parent, const char *name);
int removal_run_within(int parent, const char *name, int64_t ms);
