/* SPDX-License-Identifier: Apache-2.0 */
/* harmless.h - other people's words on this terminal
 *
 * Names of jobs, messages and their like are whatever somebody wrote. What
 * would move the cursor, change colours or make a terminal answer becomes a
 * question mark; ends of lines and tabs become blanks. Text is UTF-8, whose
 * control characters have one byte (C0, DEL) or two (C1).
 */
#pragma once

#include "lib/base/macro.h"

/* A copy; NULL: of nothing. free() it. */
char *harmless_dup(const char *text) MUST_USE;
