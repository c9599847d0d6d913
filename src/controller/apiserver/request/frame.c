/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand watchers get the same change. Its text is made once and each sends it by
 * reference, with a seal of its own beside it; so memory grows with changes and not with
 * watchers. A frame refers to objects by a reference that it holds until the last byte has
 * left.
 */
#include "controller/apiserver/request/frame.h"

#include <stdarg.h>
#include <string.h>

#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define KEPT_BYTES (16u << 10) /* the most that a spare frame keeps */
#define SPARE_MAX  32

/* A run of the frame's text, or a slice of an object's text. A run is kept by
 * offset because the text moves as it grows.
 */
struct frame_part {
    const struct object *object;
    const char *from;
    size_t offset;
    size_t length;
};

struct frame {
    unsigned references;
    struct frame_pool *pool; /* takes the frame back, or NULL */
    struct strbuf text;
    struct frame_part *parts;
    size_t n_parts, capacity;
    size_t length;
    struct digest digest;
    bool has_digest;
};

/* Lives as long as its owner or one of its frames. */
struct frame_pool {
    unsigned references;
    bool has_ended; /* the owner has freed it */
    unsigned n;
    struct frame *spare[SPARE_MAX];
};

static void
drop_parts(struct frame *frame)
{
    for (size_t i = 0; i < frame->n_parts; i++)
        if (frame->parts[i].object != NULL)
            object_unref(frame->parts[i].object);
    frame->n_parts = 0;
}

static void
free_frame(struct frame *frame)
{
    free(frame->parts);
    strbuf_fini(&frame->text);
    free(frame);
}

static void
unref_pool(struct frame_pool *pool)
{
    if (--pool->references == 0)
        free(pool);
}

static void
give_back(struct frame_pool *pool, struct frame *frame)
{
    if (pool->has_ended || pool->n == SPARE_MAX || frame->text.capacity > KEPT_BYTES) {
        free_frame(frame);
    } else {
        strbuf_truncate(&frame->text, 0);
        frame->length = 0;
        frame->has_digest = false;
        pool->spare[pool->n++] = frame;
    }
    unref_pool(pool);
}

void
frame_unref(struct frame *frame)
{
    if (frame == NULL || --frame->references > 0)
        return;
    drop_parts(frame);
    if (frame->pool != NULL)
        give_back(frame->pool, frame);
    else
        free_frame(frame);
}

struct frame *
frame_ref(struct frame *frame)
{
    frame->references++;
    return frame;
}

struct frame *
frame_new(void)
{
    struct frame *frame = xnew(struct frame);

    frame->references = 1;
    strbuf_init(&frame->text);
    return frame;
}

struct frame_pool *
frame_pool_new(void)
{
    struct frame_pool *pool = xnew(struct frame_pool);

    pool->references = 1;
    return pool;
}

void
frame_pool_free(struct frame_pool *pool)
{
    if (pool == NULL)
        return;
    while (pool->n > 0)
        free_frame(pool->spare[--pool->n]);
    pool->has_ended = true;
    unref_pool(pool);
}

struct frame *
frame_pool_take(struct frame_pool *pool)
{
    struct frame *frame;

    if (pool->n > 0) {
        frame = pool->spare[--pool->n];
        frame->references = 1;
    } else {
        frame = frame_new();
        frame->pool = pool;
    }
    pool->references++;
    return frame;
}

static struct frame_part *
add_part(struct frame *frame)
{
    xgrow(frame->parts, frame->n_parts, frame->capacity);
    memset(&frame->parts[frame->n_parts], 0, sizeof(*frame->parts));
    return &frame->parts[frame->n_parts++];
}

/* The text from `offset` on was just added: it lengthens the last run. */
static void
note_text(struct frame *frame, size_t offset)
{
    size_t length = frame->text.length - offset;
    struct frame_part *last = frame->n_parts > 0 ? &frame->parts[frame->n_parts - 1] : NULL;

    if (last == NULL || last->object != NULL) {
        last = add_part(frame);
        last->offset = offset;
    }
    last->length += length;
    frame->length += length;
}

void
frame_add_bytes(struct frame *frame, const void *bytes, size_t length)
{
    size_t offset = frame->text.length;

    strbuf_add(&frame->text, bytes, length);
    note_text(frame, offset);
}

void
frame_add(struct frame *frame, const char *text)
{
    frame_add_bytes(frame, text, strlen(text));
}

void
frame_printf(struct frame *frame, const char *format, ...)
{
    size_t offset = frame->text.length;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&frame->text, format, args);
    va_end(args);
    note_text(frame, offset);
}

void
frame_add_slice(struct frame *frame, const struct object *object, const char *from, size_t length)
{
    struct frame_part *part = add_part(frame);

    part->object = object_ref(object);
    part->from = from;
    part->length = length;
    frame->length += length;
}

void
frame_reserve(struct frame *frame, size_t bytes)
{
    strbuf_reserve(&frame->text, bytes);
}

size_t
frame_length(const struct frame *frame)
{
    return frame->length;
}

static const char *
part_bytes(const struct frame *frame, const struct frame_part *part)
{
    return part->object != NULL ? part->from : frame->text.text + part->offset;
}

void
frame_copy(const struct frame *frame, struct strbuf *out)
{
    for (size_t i = 0; i < frame->n_parts; i++)
        strbuf_add(out, part_bytes(frame, &frame->parts[i]), frame->parts[i].length);
}

void
frame_flatten(struct frame *frame)
{
    struct strbuf text = STRBUF_INIT;

    if (frame->n_parts < 2)
        return;
    strbuf_reserve(&text, frame->length);
    frame_copy(frame, &text);
    drop_parts(frame);
    strbuf_fini(&frame->text);
    frame->text = text;
    frame->parts[frame->n_parts++] = (struct frame_part){.length = text.length};
}

void
frame_add_frame(struct frame *frame, const struct frame *other)
{
    for (size_t i = 0; i < other->n_parts; i++)
        frame_add_bytes(frame, part_bytes(other, &other->parts[i]), other->parts[i].length);
}

bool
frame_is_shared(const struct frame *frame)
{
    return frame->references > 1;
}

const struct digest *
frame_digest(struct frame *frame)
{
    struct digest_part *parts;

    if (frame->has_digest)
        return &frame->digest;
    parts = xnew_array(struct digest_part, frame->n_parts + 1);
    for (size_t i = 0; i < frame->n_parts; i++) {
        parts[i].bytes = part_bytes(frame, &frame->parts[i]);
        parts[i].length = frame->parts[i].length;
    }
    digest_parts(parts, frame->n_parts, &frame->digest);
    frame->has_digest = true;
    free(parts);
    return &frame->digest;
}

void
frame_add_to_sum(const struct frame *frame, struct digest_sum *sum)
{
    for (size_t i = 0; i < frame->n_parts; i++)
        digest_sum_add(sum, part_bytes(frame, &frame->parts[i]), frame->parts[i].length);
}

static void
release(const void *bytes, size_t length, void *arg)
{
    (void)bytes;
    (void)length;
    frame_unref(arg);
}

size_t
frame_count_pieces(const struct frame *frame)
{
    return frame->n_parts;
}

void
frame_take_pieces(struct frame *frame, struct http_piece *ret_pieces)
{
    for (size_t i = 0; i < frame->n_parts; i++)
        ret_pieces[i] = (struct http_piece){
            .bytes = part_bytes(frame, &frame->parts[i]),
            .length = frame->parts[i].length,
            .release = release,
            .arg = frame_ref(frame),
        };
}
