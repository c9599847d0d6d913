/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc_command.h - what runs while the job is there: a command here, or on its first node
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct arena;

/* The words of `krun`, for ksub --interactive: the command, or the shell, on the job's first
 * node, in this terminal if there is one.
 */
char **kalloc_command_remote(struct arena *arena, const char *directory, char **command);

/* Runs the command, or the shell, in the place of this process, which kalloc has forked. Step: it
 * is krun's words; krun then writes into `lost`, a pipe, if the step is lost with its job.
 */
NORETURN void kalloc_command_become(const char *name, char **command, bool is_step, int lost,
                                    const char *directory);

void kalloc_command_unblock_signals(void);
