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

/* Tells what follows the end of a run: nothing, or a new agent, with or without
 * proof of its node (registration.h).
 */
enum agent_next { AGENT_ENDS, AGENT_PROVEN, AGENT_UNPROVEN };

/* Life. agent_new does everything that can fail: it discovers the hardware,
 * opens the state directory (-EBUSY when another agent holds its lock) and the
 * cgroups. agent_run returns AGENT_ENDS after SIGTERM or SIGINT (the jobs go on
 * without the agent); otherwise it returns which kind of agent is to be created
 * next.
 */
void agent_free(struct agent *agent);
int agent_new(const struct agent_settings *settings, enum agent_next mode, struct agent **ret_agent,
              struct error *err);
DEFINE_CLEANUP(struct agent, agent_free)
enum agent_next agent_run(struct agent *agent);
