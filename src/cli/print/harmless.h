/* SPDX-License-Identifier: Apache-2.0 */
/* harmless.h - other people's words on this terminal
 *
 * Names of jobs, messages and their like are whatever somebody wrote. What
 * would move the cursor, change colours or make a terminal answer becomes a
 * question mark; ends of lines and tabs become blanks. So does what turns
 * the direction of a line or cannot be seen, by which one name passes for
 * another. Text is UTF-8, whose control characters have one byte (C0, DEL), two
 * (C1) or three.
 */
#pragma once

#include "lib/base/macro.h"

/* A copy; NULL: of nothing. free() it. */
char *harmless_dup(const char *text) MUST_USE;
