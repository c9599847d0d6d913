/* SPDX-License-Identifier: Apache-2.0 */
/* shell_reader.h - finds the commands and the comments of a shell script
 *
 * It reads quotes, substitutions, here documents, case patterns and reserved
 * words, so that a word in a text is not taken for a command. It does not
 * expand anything: a command in a variable is not found. Any bytes can be read;
 * the cost is proportional to their number.
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

enum shell_part {
    SHELL_COMMAND, /* the name of a command, without quotes */
    SHELL_LOOKUP,  /* a name that the script looks up (command -v, which) or
                    * defines (alias, function) */
    SHELL_COMMENT, /* from its '#' to the end of the line */
};

/* `line` counts from 1. The text is borrowed for the call. */
typedef void shell_reader_fn(enum shell_part part, const char *text, size_t length, unsigned line,
                             void *context);

void shell_reader_visit(const char *script, size_t length, shell_reader_fn *visit, void *context);
