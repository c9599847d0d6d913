/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The position after the ")" that closes the "(" at `at`. */
static const char *
skip_inlined(const char *at)
{
    unsigned depth = 0;

    do {
        depth += *at == '(';
        depth -= *at == ')';
    } while (*at++ != '\0' && depth > 0);
    return at;
}

/* Reads the word at *at and moves *at behind it; false at the end of the
 * message.
 */
static bool
next_word(const char **at, const char **ret_word, size_t *ret_length)
{
    while (**at == ' ')
        (*at)++;
    *ret_word = *at;
    *at = **at == '(' ? skip_inlined(*at) : *at + strcspn(*at, " )");
    *ret_length = (size_t)(*at - *ret_word);
    return *ret_length > 0;
}

bool
message_find_field(const char *message, uint32_t number, struct message_field *ret_field)
{
    const char *at = message, *word;
    uint32_t next = 1;
    size_t length;

    while (next_word(&at, &word, &length)) {
        if (isdigit((unsigned char)word[0])) {
            next = (uint32_t)strtoul(word, NULL, 10);
            continue;
        }
        if (next++ != number)
            continue;
        ret_field->name = word;
        ret_field->length = length;
        ret_field->inlined = word[0] == '(' ? word + 1 : NULL;
        return true;
    }
    return false;
}
