/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that is freed all at once
 *
 * For data with one lifetime, such as a parsed document or a request. All
 * memory allocated from an arena is borrowed until arena_free. Block sizes
 * grow, so a small document costs one allocation.
 *
 * Thread: one at a time; an arena may be passed to another thread.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct arena;

/* Life. `first_block` is an estimate of the bytes needed; 0: the default. */
void arena_free(struct arena *arena);
struct arena *arena_new(size_t first_block) OWNED_BY(arena_free);
DEFINE_CLEANUP(struct arena, arena_free)

/* Take. Never NULL. Memory of arena_alloc is zeroed and aligned for any type.
 * Arena_text is uninitialized room for `length` bytes, with a NUL behind them.
 */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_memdup(struct arena *arena, const void *p, size_t size);
char *arena_text(struct arena *arena, size_t length);
char *arena_strdup(struct arena *arena, const char *s);
char *arena_strndup(struct arena *arena, const char *s, size_t length);
char *arena_concat(struct arena *arena, const char *a, const char *b);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) PRINTF(2, 0);

#define arena_new_array(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* Rewind restores the state of the mark: allocations made since are invalid. */
struct arena_mark {
    const void *open, *behind;
    size_t used;
    size_t next_size;
    size_t total;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, const struct arena_mark *mark);

/* Bytes held, with block headers and unused space. */
size_t arena_bytes(const struct arena *arena);
