/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that is freed all at once
 *
 * For what lives and dies together: a parsed document, a request. Everything
 * taken from an arena is borrowed until arena_free. Blocks grow, so a small
 * document costs one allocation.
 *
 * Thread: one at a time; an arena may be handed over.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct arena;

/* Life. `first_block` is a guess at the bytes wanted, 0 for the usual. */
void arena_free(struct arena *arena);
struct arena *arena_new(size_t first_block) OWNED_BY(arena_free);
DEFINE_CLEANUP(struct arena, arena_free)

/* Take. Never NULL; arena_alloc is zeroed and aligned for any type. Text is
 * room for a text to be written, with its NUL behind it.
 */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_memdup(struct arena *arena, const void *p, size_t size);
char *arena_text(struct arena *arena, size_t length);
char *arena_strdup(struct arena *arena, const char *s);
char *arena_strndup(struct arena *arena, const char *s, size_t length);
char *arena_concat(struct arena *arena, const char *a, const char *b);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
    PRINTF(2, 0);

#define arena_new_array(arena, T, n) \
    ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* Back to how it was at the mark: what was taken since is gone. */
struct arena_mark {
    const void *open, *behind;
    size_t used;
    size_t next_size;
    size_t total;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, const struct arena_mark *mark);

/* Look: bytes held, blocks and slack included. */
size_t arena_bytes(const struct arena *arena);
