/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - what agents that were killed have left on this node
 *
 * Cgroups that were made ahead or not removed yet, and directories in /run of
 * pods that have no record there or no place on the disk. Which cgroups were an
 * agent's is told by the beginnings of their names, which each notes in /run:
 * others' agents may share the base.
 *
 * Thread: the loop's, before any pod is taken up.
 */
#pragma once

struct agent_context;

/* Prefix: of the cgroups that this agent will make. */
void leftovers_collect(const struct agent_context *agent, const char *prefix);
