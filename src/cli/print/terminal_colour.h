/* SPDX-License-Identifier: Apache-2.0 */
/* terminal_colour.h - colours for terminals
 *
 * They are off unless standard output is a terminal, TERM is not "dumb" and
 * NO_COLOR is not set (no-color.org). CLICOLOR_FORCE, which `kctl --color
 * always` sets, turns them on in any case.
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

/* Applies "always", "never" or "auto" to this process, before it starts
 * threads. -EINVAL: another word.
 */
int terminal_colour_set(const char *when);

/* The escape sequence of a colour, "" for plain; and the one that resets them
 * all.
 */
const char *terminal_colour_start(enum terminal_colour colour);
extern const char terminal_colour_end[];

/* The colour of a state: green for running or succeeded, red for failures,
 * magenta for jobs that a user stopped, yellow for waiting, plain for a word
 * that is no state.
 */
enum terminal_colour terminal_colour_of_state(const char *word);
