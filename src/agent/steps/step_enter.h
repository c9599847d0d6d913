/* SPDX-License-Identifier: Apache-2.0 */
/* step_enter.h - sessions of users on this node (ENTER), for pam_kiln
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct pods;
struct step_asked;
struct step_channel;

struct step_enter_settings {
    const struct pods *pods;
    const char *node; /* the name of this one */
};

/* Whether the user has a job here; or the process that asks joins it. */
void step_enter_answer(const struct step_enter_settings *settings,
                       struct step_channel *connection TAKES, const struct step_asked *asked);
