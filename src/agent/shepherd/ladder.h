/* SPDX-License-Identifier: Apache-2.0 */
/* ladder.h - what a new process does to become the user's job
 *
 * Rung by rung, from root in the agent's world to the user's program: see
 * `rungs` in ladder.c for the order, which is the point of it. Everything is
 * prepared before the fork (outfit.h); climbing calls nothing but the system.
 *
 * Rootless, the rungs that only root can climb are left out.
 */
#pragma once

#include "lib/base/macro.h"

struct outfit;

/* In the child. Never returns: the program runs, or a report is written. */
void ladder_climb(const struct outfit *o) NORETURN;

/* What the parent then reads. */
struct ladder_report {
    int rung;
    int error_number;
};
const char *ladder_rung_name(const struct ladder_report *report);
