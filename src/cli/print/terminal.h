/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - the size of the terminal of standard output
 *
 * COLUMNS and LINES take precedence over the terminal's own size; the default
 * is 80 columns and 24 lines.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

bool terminal_is_output(void);

/* 0: standard output is no terminal and COLUMNS is not set, so the width is
 * unlimited.
 */
unsigned terminal_width(void);
unsigned terminal_height(void);
