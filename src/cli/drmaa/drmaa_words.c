/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drmaa/drmaa_words.h"
#include "cli/drmaa/drmaa.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
words_add(struct drmaa_words *words, const char *format, ...)
{
    if (words->count + 2 > words->room) {
        size_t room = words->room ? words->room * 2 : 16;
        char **word = reallocarray(words->word, room, sizeof *word);
        if (word == NULL) {
            words->is_out_of_memory = true;
            return;
        }
        words->word = word;
        words->room = room;
    }
    char *text;
    va_list values;
    va_start(values, format);
    int length = vasprintf(&text, format, values);
    va_end(values);
    if (length < 0) {
        words->is_out_of_memory = true;
        return;
    }
    words->word[words->count++] = text;
    words->word[words->count] = NULL;
}

void
words_clear(struct drmaa_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->word[i]);
    free(words->word);
    *words = (struct drmaa_words){};
}

void
put_text(char *text, size_t size, const char *value)
{
    if (text == NULL || size == 0)
        return;
    size_t length = strnlen(value, size - 1);
    memcpy(text, value, length);
    text[length] = '\0';
}

int
diagnose(char *text, size_t size, int code, const char *format, ...)
{
    if (text == NULL || size == 0)
        return code;
    if (format == NULL) {
        put_text(text, size, drmaa_strerror(code));
        return code;
    }
    va_list values;
    va_start(values, format);
    vsnprintf(text, size, format, values);
    va_end(values);
    return code;
}

static int
next_word(struct drmaa_words *words, char *value, size_t size)
{
    if (words->next >= words->count)
        return DRMAA_ERRNO_NO_MORE_ELEMENTS;
    put_text(value, size, words->word[words->next++]);
    return DRMAA_ERRNO_SUCCESS;
}

#define LIST(TYPE, NEXT, NUM, RELEASE)                                      \
    DRMAA_EXPORT int NEXT(TYPE *values, char *value, size_t value_len)      \
    {                                                                       \
        return values != NULL ? next_word(&values->words, value, value_len) \
                              : DRMAA_ERRNO_INVALID_ARGUMENT;               \
    }                                                                       \
    DRMAA_EXPORT int NUM(TYPE *values, size_t *size)                        \
    {                                                                       \
        if (values == NULL || size == NULL)                                 \
            return DRMAA_ERRNO_INVALID_ARGUMENT;                            \
        *size = values->words.count;                                        \
        return DRMAA_ERRNO_SUCCESS;                                         \
    }                                                                       \
    DRMAA_EXPORT void RELEASE(TYPE *values)                                 \
    {                                                                       \
        if (values != NULL)                                                 \
            words_clear(&values->words);                                    \
        free(values);                                                       \
    }
LIST(drmaa_attr_names_t, drmaa_get_next_attr_name, drmaa_get_num_attr_names,
     drmaa_release_attr_names)
LIST(drmaa_attr_values_t, drmaa_get_next_attr_value, drmaa_get_num_attr_values,
     drmaa_release_attr_values)
LIST(drmaa_job_ids_t, drmaa_get_next_job_id, drmaa_get_num_job_ids, drmaa_release_job_ids)
