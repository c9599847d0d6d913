/* SPDX-License-Identifier: Apache-2.0 */
/* sanitize_text.h - other people's text, made safe for this terminal
 *
 * Names of jobs, messages and their like can contain anything. Characters that
 * move the cursor, change colours or make a terminal answer become question
 * marks; so do those that change the direction of a line or are invisible,
 * because they make one name look like another. Ends of lines and tabs become
 * blanks. Text is UTF-8, in which control characters have one byte (C0, DEL),
 * two (C1) or three.
 *
 * Thread: any.
 */
#pragma once

#include "lib/base/macro.h"

/* Returns a copy to free(); the copy of NULL is empty. */
char *sanitize_text_dup(const char *text) MUST_USE;
