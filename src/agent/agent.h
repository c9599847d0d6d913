/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - the node's daemon: its components, in the order they start
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

/* Whether another agent follows a run: none, or one with or without proof of
 * its node (registration.h).
 */
enum agent_next { AGENT_ENDS, AGENT_PROVEN, AGENT_UNPROVEN };

/* Life. New does all that can fail: discovers the hardware, opens the state
 * directory (-EBUSY when another agent has it) and the cgroups. Run ends with
 * AGENT_ENDS after SIGTERM or SIGINT (jobs go on without the agent), and else
 * with what is to be made anew.
 */
void agent_free(struct agent *agent);
int agent_new(const struct agent_settings *settings,
              enum agent_next mode,
              struct agent **ret_agent,
              struct error *err);
DEFINE_CLEANUP(struct agent, agent_free)
enum agent_next agent_run(struct agent *agent);
