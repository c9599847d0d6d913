/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the node's daemon: its rooms, in the order they start
 *
 * Owns:    everything; borrows the settings.
 * Thread:  its loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct agent;
struct agent_settings;
struct error;

/* Life. New does all that can fail: discovers the hardware, opens the state
 * directory (-EBUSY when another agent has it) and the cgroups. Run returns
 * false after SIGTERM or SIGINT (jobs go on without the agent), and true when
 * the agent is to be made anew: it has just got its node's secret.
 */
void agent_free(struct agent *agent);
int agent_new(const struct agent_settings *settings,
              struct agent **ret_agent,
              struct error *err);
DEFINE_CLEANUP(struct agent, agent_free)
bool agent_run(struct agent *agent);
