/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
error_set(struct error *err, int code, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return code;
}

int
error_wrap(struct error *err, int code, const char *format, ...)
{
    char below[sizeof(err->text)];
    va_list args;
    int used;

    if (err == NULL)
        return code;
    if (err->code != 0)
        memcpy(below, err->text, sizeof(below));
    else
        snprintf(below, sizeof(below), "%s", strerror(-code));
    err->code = code;
    va_start(args, format);
    used = vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    if (used >= 0 && (size_t)used + 2 < sizeof(err->text))
        snprintf(err->text + used,
                 sizeof(err->text) - (size_t)used,
                 ": %s",
                 below);
    return code;
}
