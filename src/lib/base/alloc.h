/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - allocation that never returns NULL: the program aborts instead
 *
 * Callers bound sizes that come from outside before they pass them. Results are
 * freed with free().
 *
 * Thread:  any.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "lib/base/macro.h"

void *xmalloc(size_t size) OWNED_BY(free);
void *xcalloc(size_t count, size_t size) OWNED_BY(free);
void *xrealloc(void *p, size_t size) MUST_USE;
void *xrealloc_array(void *p, size_t count, size_t size) MUST_USE;
void *xmemdup(const void *p, size_t size) OWNED_BY(free);
char *xstrdup(const char *s) OWNED_BY(free);
char *xstrndup(const char *s, size_t length) OWNED_BY(free);
char *xasprintf(const char *format, ...) PRINTF(1, 2) OWNED_BY(free);
char *xvasprintf(const char *format, va_list args) PRINTF(1, 0) OWNED_BY(free);

/* The memory is zeroed. */
#define xnew(T)          ((T *)xcalloc(1, sizeof(T)))
#define xnew_array(T, n) ((T *)xcalloc((n), sizeof(T)))

/* Grows the array at *items so that one more element fits. */
#define xgrow(items, count, capacity)                         \
    ((count) < (capacity)                                     \
         ? (void)0                                            \
         : (void)((capacity) = (capacity) ? (capacity)*2 : 8, \
                  (items) = xrealloc_array((items), (capacity), sizeof(*(items)))))

void freep(void *p);
#define CLEANUP_FREE CLEANUP(freep)
