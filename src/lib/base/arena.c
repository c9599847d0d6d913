/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/arena.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"

#define ALIGNMENT   16u
#define FIRST_BLOCK 1024u
#define MAX_BLOCK   (256u * 1024u)

struct block {
    struct block *next;
    size_t size;
    size_t used;
    _Alignas(ALIGNMENT) char bytes[];
};

struct arena {
    struct block *blocks; /* the first is open: it has room */
    size_t next_size;
    size_t total;
};

struct arena *
arena_new(size_t first_block)
{
    struct arena *arena = xnew(struct arena);

    arena->next_size = first_block ? first_block : FIRST_BLOCK;
    arena->total = sizeof(*arena);
    return arena;
}

void
arena_free(struct arena *arena)
{
    struct block *next;

    if (arena == NULL)
        return;
    for (struct block *b = arena->blocks; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

static struct block *
block_new(struct arena *arena, size_t size, struct block *next)
{
    struct block *b = xmalloc(sizeof(*b) + size);

    b->next = next;
    b->size = size;
    b->used = 0;
    arena->total += sizeof(*b) + size;
    return b;
}

/* What is as large as a block gets one to itself, behind the open block, so
 * that the room left in that one is not lost.
 */
static struct block *
add_block(struct arena *arena, size_t at_least)
{
    struct block *open = arena->blocks;

    if (open != NULL && at_least >= arena->next_size) {
        open->next = block_new(arena, at_least, open->next);
        return open->next;
    }
    arena->blocks =
        block_new(arena,
                  arena->next_size > at_least ? arena->next_size : at_least,
                  open);
    if (arena->next_size < MAX_BLOCK)
        arena->next_size *= 2;
    return arena->blocks;
}

/* Strings need no alignment, so they pack. */
static char *
take_bytes(struct arena *arena, size_t size, size_t alignment)
{
    struct block *b = arena->blocks;
    size_t at = b ? (b->used + alignment - 1) & ~(alignment - 1) : 0;

    if (b == NULL || at > b->size || b->size - at < size) {
        b = add_block(arena, size);
        at = 0;
    }
    b->used = at + size;
    return b->bytes + at;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    char *p = take_bytes(arena, size, ALIGNMENT);

    memset(p, 0, size);
    return p;
}

void *
arena_memdup(struct arena *arena, const void *p, size_t size)
{
    char *copy = take_bytes(arena, size, ALIGNMENT);

    if (size > 0)
        memcpy(copy, p, size);
    return copy;
}

char *
arena_text(struct arena *arena, size_t length)
{
    char *text = take_bytes(arena, length + 1, 1);

    text[length] = '\0';
    return text;
}

char *
arena_strndup(struct arena *arena, const char *s, size_t length)
{
    char *copy = arena_text(arena, length);

    if (length > 0)
        memcpy(copy, s, length);
    return copy;
}

char *
arena_strdup(struct arena *arena, const char *s)
{
    return arena_strndup(arena, s, strlen(s));
}

char *
arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    char small[256];
    char *text;
    int length;

    va_copy(again, args);
    length = vsnprintf(small, sizeof(small), format, again);
    va_end(again);
    if (length < 0)
        abort();
    if ((size_t)length < sizeof(small))
        return arena_strndup(arena, small, (size_t)length);
    text = take_bytes(arena, (size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

char *
arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *s;

    va_start(args, format);
    s = arena_vprintf(arena, format, args);
    va_end(args);
    return s;
}

size_t
arena_bytes(const struct arena *arena)
{
    return arena->total;
}
