/* SPDX-License-Identifier: Apache-2.0 */
/* sanitize_text.h - makes text of other users safe to print on a terminal
 *
 * Names of jobs, messages and similar texts can contain any bytes. Characters
 * that move the cursor, change colours or make a terminal send input become
 * question marks; so do those that change the direction of a line or are
 * invisible, because they make one name look like another. Newlines and tabs
 * become blanks. Text is UTF-8, in which control characters have one byte (C0,
 * DEL), two (C1) or three.
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct strbuf;

/* Returns a copy to free(); the copy of NULL is empty. In place: returns the length, which
 * may be less than before.
 */
char *sanitize_text_dup(const char *text) MUST_USE;
size_t sanitize_text_in_place(char *text);

/* Appends a cell of CSV, quoted if RFC 4180 requires it. A spreadsheet takes a
 * cell that starts with one of "=+-@" and is no number for a formula, so such a
 * cell gets a leading single quote.
 */
void sanitize_text_add_csv(const char *text, struct strbuf *out);
