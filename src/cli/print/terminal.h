/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - the size of the terminal that standard output is
 *
 * COLUMNS and LINES say more than the terminal does; one that says nothing has
 * 80 columns and 24 lines.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

bool terminal_is_output(void);

/* 0: standard output is no terminal, and as wide as need be. */
unsigned terminal_width(void);
unsigned terminal_height(void);
