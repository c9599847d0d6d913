/* SPDX-License-Identifier: Apache-2.0 */
/* removal.h - removes a directory and everything below it
 *
 * The removal never follows a link, needs two descriptors for a tree of any depth, and
 * detaches file systems that were mounted inside, whose servers are asked nothing.
 *
 * Thread: any; blocks for as long as it takes.
 */
#pragma once

#include <stdint.h>

/* `name` is a directory in `parent` that only we can write to; its contents may
 * belong to anybody. Its subdirectories are moved up into it and emptied one
 * after the other. As root, each is first given to root, so that no process
 * inside can add to it. -ENOENT is no failure. removal_run_within returns
 * -EAGAIN when the time is up first; another call continues.
 */
int removal_run(int parent, const char *name);
int removal_run_within(int parent, const char *name, int64_t ms);

/* Detaches what is mounted there, without a look at it. */
void removal_detach(const char *path);
