/* SPDX-License-Identifier: Apache-2.0 */
/* terminal_colour.h - colours, where a terminal wants them
 *
 * They are off unless standard output is a terminal, TERM is not "dumb" and
 * NO_COLOR is not set (no-color.org); CLICOLOR_FORCE has them in any case, and
 * so has `kctl --color always`, which sets it.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>

enum terminal_colour {
    COLOUR_PLAIN,
    COLOUR_BOLD,
    COLOUR_DIM,
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_BLUE,
    COLOUR_MAGENTA,
    COLOUR_CYAN,
};

bool terminal_colour_is_wanted(void);

/* Makes "always", "never" and "auto" so for this process, before threads
 * begin. -EINVAL: it is none of these.
 */
int terminal_colour_set(const char *when);

/* The escape sequence, "" for plain; and the one that ends any of them. */
const char *terminal_colour_start(enum terminal_colour colour);
extern const char terminal_colour_end[];

/* The colour of a state's word: green for what runs or has succeeded, red for
 * failures, magenta for what somebody stopped, yellow for what waits, plain for
 * a word that is no state.
 */
enum terminal_colour terminal_colour_of_state(const char *word);
