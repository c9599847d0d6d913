/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_step.h - ends one numbered step, or sends a signal to it, for scancel
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct slurm_client;

#define CANCEL_STATUS_DENIED 210 /* the last eight bits of ESLURM_ACCESS_DENIED */

/* A step as in "17.0" or "17_4.0". Signal 0 ends it. Plain: without options
 * that steps do not have. Tells what fails, and returns scancel's exit status.
 */
int cancel_step(struct slurm_client *client, const char *word, int signal_number, bool is_verbose,
                bool is_plain);
