/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The arguments may point into err->text, so the new text is formatted in a
 * separate buffer.
 */
int
error_set(struct error *err, int code, const char *format, ...)
{
    char text[sizeof(err->text)];
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err->code = code;
    memcpy(err->text, text, strlen(text) + 1);
    return code;
}

static void
append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    size_t length = strnlen(more, size - used - 1);

    memcpy(text + used, more, length);
    text[used + length] = '\0';
}

int
error_wrap(struct error *err, int code, const char *format, ...)
{
    char text[sizeof(err->text)];
    const char *below;
    va_list args;

    if (err == NULL)
        return code;
    below = err->code != 0 ? err->text : strerror(-code);
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    append(text, sizeof(text), ": ");
    append(text, sizeof(text), below);
    err->code = code;
    memcpy(err->text, text, strlen(text) + 1);
    return code;
}
