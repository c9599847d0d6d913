/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shell/shell_word.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/macro.h"

static const char *const reserved[] = {"!",  "{",    "do",    "elif",   "else",
                                       "if", "then", "until", "coproc", "while"};
static const char *const lookups[] = {"alias", "hash", "type", "which"};
static const char *const prefixes[] = {
    "builtin", "chrt",  "command", "env",      "eval",   "exec",   "ionice",
    "nice",    "nohup", "numactl", "setsid",   "stdbuf", "strace", "sudo",
    "taskset", "time",  "timeout", "unbuffer", "xargs",
};

static bool
is_one_of(const char *const *words, size_t n_words, const char *word, size_t length)
{
    for (size_t i = 0; i < n_words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
            return true;
    return false;
}

/* NAME=value, NAME+=value or NAME[...]=value */
static bool
is_assignment(const char *word, size_t length)
{
    size_t i = 0;

    if (length == 0 || isdigit((unsigned char)word[0]))
        return false;
    while (i < length && (isalnum((unsigned char)word[i]) || word[i] == '_'))
        i++;
    if (i == 0 || i == length)
        return false;
    if (word[i] == '[')
        return memchr(word + i, '=', length - i) != NULL;
    return word[i] == '=' || (word[i] == '+' && i + 1 < length && word[i + 1] == '=');
}

enum shell_word
shell_word_find(const char *word, size_t length)
{
    const char *slash;

    if (is_assignment(word, length))
        return SHELL_WORD_ASSIGNMENT;
    if (is_one_of(reserved, ARRAY_SIZE(reserved), word, length))
        return SHELL_WORD_RESERVED;
    if (length == 4 && memcmp(word, "case", 4) == 0)
        return SHELL_WORD_CASE;
    if (length == 4 && memcmp(word, "esac", 4) == 0)
        return SHELL_WORD_ESAC;
    if (length == 8 && memcmp(word, "function", 8) == 0)
        return SHELL_WORD_FUNCTION;
    slash = memrchr(word, '/', length);
    if (slash != NULL) {
        length -= (size_t)(slash + 1 - word);
        word = slash + 1;
    }
    if (is_one_of(lookups, ARRAY_SIZE(lookups), word, length))
        return SHELL_WORD_LOOKUP;
    return is_one_of(prefixes, ARRAY_SIZE(prefixes), word, length) ? SHELL_WORD_PREFIX
                                                                   : SHELL_WORD_PLAIN;
}

/* The last part of the next word of the first line. */
static const char *
take_program(const char **at, const char *end, size_t *ret_length)
{
    const char *p = *at;
    const char *name;

    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    name = p;
    for (; p < end && *p != ' ' && *p != '\t'; p++)
        if (*p == '/')
            name = p + 1;
    *at = p;
    *ret_length = (size_t)(p - name);
    return name;
}

bool
shell_word_is_of_shell(const char *script, size_t length)
{
    static const char *const shells[] = {"ash",  "bash",  "csh", "dash", "ksh",
                                         "mksh", "rbash", "sh",  "tcsh", "zsh"};
    const char *newline = memchr(script, '\n', length);
    const char *end = newline != NULL ? newline : script + length;
    const char *at = script + 2;
    const char *name;
    size_t n;

    if (length < 2 || memcmp(script, "#!", 2) != 0)
        return false;
    name = take_program(&at, end, &n);
    if (n == 3 && memcmp(name, "env", 3) == 0)
        do
            name = take_program(&at, end, &n);
        while (n > 0 && (name[0] == '-' || memchr(name, '=', n) != NULL));
    return is_one_of(shells, ARRAY_SIZE(shells), name, n);
}
