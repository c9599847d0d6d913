/* SPDX-License-Identifier: Apache-2.0 */
/* No caller could do anything sensible without memory, and error paths that never run are
 * wrong. So the program ends, with a message; sizes that come from outside have bounds before
 * they come here.
 */
#include "lib/base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void NORETURN
out_of_memory(size_t size)
{
    fprintf(stderr, "out of memory (%zu bytes)\n", size);
    abort();
}

void *
xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (p == NULL)
        out_of_memory(size);
    return p;
}

void *
xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    if (p == NULL)
        out_of_memory(count * size);
    return p;
}

void *
xrealloc(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (p == NULL)
        out_of_memory(size);
    return p;
}

void *
xrealloc_array(void *p, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory(SIZE_MAX);
    return xrealloc(p, bytes);
}

void *
xmemdup(const void *p, size_t size)
{
    void *copy = xmalloc(size);

    if (size > 0)
        memcpy(copy, p, size);
    return copy;
}

char *
xstrdup(const char *s)
{
    return xmemdup(s, strlen(s) + 1);
}

char *
xstrndup(const char *s, size_t length)
{
    size_t used = strnlen(s, length);
    char *copy = xmalloc(used + 1);

    memcpy(copy, s, used);
    copy[used] = '\0';
    return copy;
}

char *
xvasprintf(const char *format, va_list args)
{
    char *s = NULL;

    if (vasprintf(&s, format, args) < 0)
        out_of_memory(0);
    return s;
}

char *
xasprintf(const char *format, ...)
{
    va_list args;
    char *s;

    va_start(args, format);
    s = xvasprintf(format, args);
    va_end(args);
    return s;
}

void
freep(void *p)
{
    free(*(void **)p);
}
