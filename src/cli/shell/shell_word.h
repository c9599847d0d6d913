/* SPDX-License-Identifier: Apache-2.0 */
/* shell_word.h - the words that have a meaning in a shell where a command may
 * be, and the programs that are shells
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum shell_word {
    SHELL_WORD_PLAIN,
    SHELL_WORD_ASSIGNMENT, /* NAME=value: the command may follow */
    SHELL_WORD_RESERVED,   /* "if", "do", "!": a command may follow */
    SHELL_WORD_CASE,
    SHELL_WORD_ESAC,
    SHELL_WORD_FUNCTION,
    SHELL_WORD_LOOKUP, /* "which": the name of a command follows */
    SHELL_WORD_PREFIX, /* "timeout": runs the command that follows its options */
};

/* The word is without quotes; of a path only the last part counts. */
enum shell_word shell_word_find(const char *word, size_t length);

/* Whether the script's first line names a shell as its interpreter. */
bool shell_word_is_of_shell(const char *script, size_t length);
