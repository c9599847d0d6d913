/* SPDX-License-Identifier: Apache-2.0 */
/* A request allocates a hundred small things and frees all of them at one moment. Blocks that
 * were freed last are used first: they are in the processor's cache, while malloc would give
 * out memory that is cold (decision 79). The kept blocks have a bound, and under a sanitizer
 * there are none, since it would not see a use after free.
 */
#include "lib/base/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sanitizer.h"

#define ALIGNMENT   16u
#define FIRST_BLOCK 1024u
#define MAX_BLOCK   (256u * 1024u)

struct arena_block {
    struct arena_block *next;
    size_t size;
    size_t used;
    _Alignas(ALIGNMENT) char bytes[];
};

struct arena {
    struct arena_block *blocks; /* the first is open: it has room */
    size_t next_size;
    size_t total;
};

/* Freed blocks, kept for the next arenas. The block freed last is reused first,
 * because it is likely to be in the processor's cache; a general allocator
 * would choose by best fit among cold memory. Disabled under a sanitizer, which
 * has to see each free.
 */
#define SHARED_LEAST 1024u
#define SHARED_SIZES 7u                             /* 1 to 64 KiB */
#define SHARED_BYTES (IS_SANITIZED ? 0u : 2u << 20) /* of all kept blocks */

static struct {
    pthread_mutex_t lock;
    struct arena_block *blocks[SHARED_SIZES];
    size_t bytes;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct arena *
arena_new(size_t first_block)
{
    struct arena *arena = xnew(struct arena);
    size_t size = first_block != 0 && first_block < FIRST_BLOCK ? first_block : FIRST_BLOCK;

    while (size < first_block) /* a size that is kept for reuse */
        size *= 2;
    arena->next_size = size;
    arena->total = sizeof(*arena);
    return arena;
}

/* The list of kept blocks of exactly that size; NULL: this size is not kept. */
static struct arena_block **
shared_list(size_t size)
{
    for (unsigned i = 0; i < SHARED_SIZES; i++)
        if (size == (size_t)SHARED_LEAST << i)
            return &shared.blocks[i];
    return NULL;
}

/* Called with the lock held. False: the caller still owns the block. */
static bool
share(struct arena_block *b)
{
    struct arena_block **list = shared_list(b->size);

    if (list == NULL || shared.bytes + b->size > SHARED_BYTES)
        return false;
    b->next = *list;
    *list = b;
    shared.bytes += b->size;
    return true;
}

/* Frees the blocks from `first` up to but not including `end`; returns `end`.
 */
static struct arena_block *
drop_blocks(struct arena_block *first, const struct arena_block *end)
{
    struct arena_block *rest = NULL, *next;

    if (first == end)
        return first;
    pthread_mutex_lock(&shared.lock);
    for (; first != end; first = next) {
        next = first->next;
        if (!share(first)) {
            first->next = rest;
            rest = first;
        }
    }
    pthread_mutex_unlock(&shared.lock);
    for (; rest != NULL; rest = next) {
        next = rest->next;
        free(rest);
    }
    return first;
}

void
arena_free(struct arena *arena)
{
    if (arena == NULL)
        return;
    drop_blocks(arena->blocks, NULL);
    free(arena);
}

struct arena_mark
arena_mark(const struct arena *arena)
{
    const struct arena_block *open = arena->blocks;

    return (struct arena_mark){
        .open = open,
        .behind = open != NULL ? open->next : NULL,
        .used = open != NULL ? open->used : 0,
        .next_size = arena->next_size,
        .total = arena->total,
    };
}

/* A large allocation has a block of its own behind the block that was open
 * then.
 */
void
arena_rewind(struct arena *arena, const struct arena_mark *mark)
{
    struct arena_block *open = drop_blocks(arena->blocks, mark->open);

    if (open != NULL) {
        open->next = drop_blocks(open->next, mark->behind);
        open->used = mark->used;
    }
    arena->blocks = open;
    arena->next_size = mark->next_size;
    arena->total = mark->total;
}

static struct arena_block *
take_shared(size_t size)
{
    struct arena_block **list = shared_list(size);
    struct arena_block *b = NULL;

    if (list == NULL)
        return NULL;
    pthread_mutex_lock(&shared.lock);
    b = *list;
    if (b != NULL) {
        *list = b->next;
        shared.bytes -= size;
    }
    pthread_mutex_unlock(&shared.lock);
    return b;
}

/* The kept size that fits so many bytes; `bytes` itself when there is none. */
static size_t
shared_size(size_t bytes)
{
    size_t size = SHARED_LEAST;

    while (size < bytes)
        size *= 2;
    return bytes >= SHARED_LEAST / 2 && size <= (size_t)SHARED_LEAST << (SHARED_SIZES - 1) ? size
                                                                                           : bytes;
}

static struct arena_block *
block_new(struct arena *arena, size_t at_least, struct arena_block *next)
{
    size_t size = shared_size(at_least);
    struct arena_block *b = take_shared(size);

    if (b == NULL)
        b = xmalloc(sizeof(*b) + size);
    b->next = next;
    b->size = size;
    b->used = 0;
    arena->total += sizeof(*b) + size;
    return b;
}

/* An allocation that is at least as large as a block gets a block of its own,
 * behind the open block, so that the rest of the open block stays usable.
 */
static struct arena_block *
add_block(struct arena *arena, size_t at_least)
{
    struct arena_block *open = arena->blocks;

    if (open != NULL && at_least >= arena->next_size) {
        open->next = block_new(arena, at_least, open->next);
        return open->next;
    }
    arena->blocks =
        block_new(arena, arena->next_size > at_least ? arena->next_size : at_least, open);
    if (arena->next_size < MAX_BLOCK)
        arena->next_size *= 2;
    return arena->blocks;
}

/* Strings need no alignment, so they are packed. */
static char *
take_bytes(struct arena *arena, size_t size, size_t alignment)
{
    struct arena_block *b = arena->blocks;
    size_t at = b ? (b->used + alignment - 1) & ~(alignment - 1) : 0;

    if (b == NULL || at > b->size || b->size - at < size) {
        b = add_block(arena, size);
        at = 0;
    }
    b->used = at + size;
    return b->bytes + at;
}

/* An object whose size is no multiple of 16 needs no 16-byte alignment. */
static size_t
alignment_for(size_t size)
{
    return size % ALIGNMENT == 0 ? ALIGNMENT : ALIGNMENT / 2;
}

void *
arena_alloc(struct arena *arena, size_t size)
{
    char *p = take_bytes(arena, size, alignment_for(size));

    memset(p, 0, size);
    return p;
}

void *
arena_memdup(struct arena *arena, const void *p, size_t size)
{
    char *copy = take_bytes(arena, size, alignment_for(size));

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
arena_concat(struct arena *arena, const char *a, const char *b)
{
    size_t of_a = strlen(a), of_b = strlen(b);
    char *text = arena_text(arena, of_a + of_b);

    memcpy(text, a, of_a);
    memcpy(text + of_a, b, of_b);
    return text;
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
