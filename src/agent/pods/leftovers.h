/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - removes what killed agents have left on this node
 *
 * These are cgroups that were made ahead or not removed yet, and directories in
 * /run of pods that have no record there or no directory below STATE. Other
 * agents may share the base, so each agent notes the prefix of its cgroups'
 * names in /run.
 *
 * Thread: the loop's, before any pod is resumed.
 */
#pragma once

struct agent_context;

/* `prefix` is that of the cgroups that this agent will make. */
void leftovers_collect(const struct agent_context *agent, const char *prefix);
