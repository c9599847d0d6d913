/* SPDX-License-Identifier: Apache-2.0 */
/* ink.h - colours, where a terminal wants them
 *
 * They are off unless standard output is a terminal, TERM is not "dumb" and
 * NO_COLOR is not set (no-color.org).
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

enum ink {
    INK_PLAIN,
    INK_BOLD,
    INK_DIM,
    INK_RED,
    INK_GREEN,
    INK_YELLOW,
    INK_BLUE,
    INK_MAGENTA,
    INK_CYAN,
};

bool ink_is_wanted(void);

/* The escape sequence, "" for plain; and the one that ends any of them. */
const char *ink_start(enum ink ink);
extern const char ink_end[];

/* Of a word for a state: green what is well, red what failed, yellow what
 * waits or is not known.
 */
enum ink ink_of_state(const char *word);
