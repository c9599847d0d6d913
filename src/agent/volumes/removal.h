/* SPDX-License-Identifier: Apache-2.0 */
/* removal.h - a directory and all that is below it, gone
 *
 * Never follows a link, needs two descriptors however deep the tree is, and
 * detaches what was mounted inside.
 *
 * Thread: any; blocks for as long as it takes.
 */
#pragma once

/* Name: a directory in `parent`, nobody's but ours to write to; what is in it
 * may be anybody's. Its subdirectories are moved up into it and emptied one
 * after the other. -ENOENT is no failure.
 */
int removal_run(int parent, const char *name);
