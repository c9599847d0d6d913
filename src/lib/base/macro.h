/* SPDX-License-Identifier: Apache-2.0 */
/* macro.h - the few macros that every file may use
 *
 * Signatures show ownership: the caller frees a result marked OWNED_BY(x_free),
 * an argument marked TAKES now belongs to the callee, and everything else is
 * borrowed.
 *
 * Thread:  any.
 */
#pragma once

#include <stddef.h>

#define CLEANUP(f)   __attribute__((cleanup(f)))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define UNUSED       __attribute__((unused))
#define NORETURN     __attribute__((noreturn))
#define MUST_USE     __attribute__((warn_unused_result))
/* clang ignores such a comment */
#define FALLTHROUGH  __attribute__((fallthrough))
#if defined(__clang__) /* clang 14 does not know malloc(dealloc) */
#define OWNED_BY(f) __attribute__((returns_nonnull, warn_unused_result))
#else
#define OWNED_BY(f) __attribute__((malloc, malloc(f, 1), returns_nonnull, warn_unused_result))
#endif
#define TAKES

/* Defines f##p(), for CLEANUP(f##p) on a local of type T *. */
#define DEFINE_CLEANUP(T, f)              \
    static inline void UNUSED f##p(T **p) \
    {                                     \
        if (*p != NULL)                   \
            f(*p);                        \
    }

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
