/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc_command.h - what runs while the job is there: a command here, or on its first node
 *
 * Thread:  the main one.
 */
#pragma once

struct arena;

/* The words of `krun`, for ksub --interactive: the command, or the shell, on the job's first
 * node, in this terminal if there is one.
 */
char **kalloc_command_remote(struct arena *arena, const char *directory, char **command);
