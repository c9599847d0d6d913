/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_frames.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

/* room for the next bytes in a reader: a header and a usual frame */
#define READ_BYTES (STEP_FRAME_HEADER + STEP_FRAME_BYTES)
/* exit code, signal, core */
#define EXIT_BYTES 9u

static void
put_number(char *out, uint32_t number)
{
    out[0] = (char)(number >> 24);
    out[1] = (char)(number >> 16);
    out[2] = (char)(number >> 8);
    out[3] = (char)number;
}

static uint32_t
get_number(const char *from)
{
    const unsigned char *at = (const unsigned char *)from;

    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* ---- Frames ---- */

size_t
step_frame_limit(enum step_frame_type type)
{
    switch (type) {
    case STEP_FRAME_HELLO:
        return STEP_HELLO_BYTES;
    case STEP_FRAME_ACCEPT:
    case STEP_FRAME_GRANT:
    case STEP_FRAME_PLACES:
    case STEP_FRAME_ORDER:
        return STEP_ACCEPT_BYTES;
    default:
        return STEP_FRAME_BYTES;
    }
}

void
step_frame_encode_header(const struct step_frame *frame, char out[STEP_FRAME_HEADER])
{
    assert(frame->length <= step_frame_limit(frame->type));
    put_number(out, (uint32_t)frame->length);
    out[4] = (char)frame->type;
    out[5] = (char)frame->stream;
    out[6] = out[7] = 0;
    put_number(out + 8, frame->task);
}

void
step_frame_add(struct strbuf *out, const struct step_frame *frame)
{
    step_frame_encode_header(frame, strbuf_extend(out, STEP_FRAME_HEADER));
    strbuf_add(out, frame->payload, frame->length);
}

void
step_frame_add_number(struct strbuf *out, enum step_frame_type type, enum step_stream stream,
                      uint32_t task, uint32_t number)
{
    char payload[4];

    put_number(payload, number);
    step_frame_add(out, &(struct step_frame){
                            .type = type,
                            .stream = stream,
                            .task = task,
                            .payload = payload,
                            .length = sizeof(payload),
                        });
}

void
step_frame_add_exit(struct strbuf *out, uint32_t task, const struct step_exit *end)
{
    size_t length = end->message_length;
    char *at;

    if (length > STEP_FRAME_BYTES - EXIT_BYTES)
        length = STEP_FRAME_BYTES - EXIT_BYTES;
    step_frame_encode_header(
        &(struct step_frame){
            .type = STEP_FRAME_EXIT,
            .task = task,
            .length = EXIT_BYTES + length,
        },
        strbuf_extend(out, STEP_FRAME_HEADER));
    at = strbuf_extend(out, EXIT_BYTES);
    put_number(at, end->exit_code);
    put_number(at + 4, end->signal);
    at[8] = end->has_core ? 1 : 0;
    strbuf_add(out, end->message, length);
}

size_t
step_frame_bytes(const char *frame)
{
    return STEP_FRAME_HEADER + (size_t)get_number(frame);
}

int
step_frame_number(const struct step_frame *frame, uint32_t *ret_number)
{
    if (frame->length != 4)
        return -EBADMSG;
    *ret_number = get_number(frame->payload);
    return 0;
}

int
step_frame_size(const struct step_frame *frame, uint16_t *ret_rows, uint16_t *ret_columns)
{
    uint32_t size;
    int r = step_frame_number(frame, &size);

    if (r < 0)
        return r;
    *ret_rows = (uint16_t)(size >> 16);
    *ret_columns = (uint16_t)size;
    return 0;
}

int
step_frame_exit(const struct step_frame *frame, struct step_exit *ret_end)
{
    if (frame->length < EXIT_BYTES)
        return -EBADMSG;
    *ret_end = (struct step_exit){
        .exit_code = get_number(frame->payload),
        .signal = get_number(frame->payload + 4),
        .has_core = frame->payload[8] != 0,
        .message = frame->payload + EXIT_BYTES,
        .message_length = frame->length - EXIT_BYTES,
    };
    return 0;
}

/* ---- Reader ---- */

void
step_reader_fini(struct step_reader *r)
{
    free(r->bytes);
    *r = (struct step_reader){0};
}

size_t
step_reader_left(const struct step_reader *r)
{
    return r->end - r->start;
}

/* The bytes that are left move to the front only when there is no room behind it:
 * then each byte moves once for each frame of the usual size.
 */
char *
step_reader_space(struct step_reader *r, size_t *ret_length)
{
    if (r->start == r->end)
        r->start = r->end = 0;
    if (r->capacity - r->end < READ_BYTES / 2 && r->start > 0) {
        memmove(r->bytes, r->bytes + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    if (r->capacity - r->end < READ_BYTES / 2) {
        r->capacity = r->capacity == 0 ? 2 * READ_BYTES : 2 * r->capacity;
        r->bytes = xrealloc(r->bytes, r->capacity);
    }
    *ret_length = r->capacity - r->end;
    return r->bytes + r->end;
}

void
step_reader_add(struct step_reader *r, size_t length)
{
    assert(length <= r->capacity - r->end);
    r->end += length;
}

static bool
is_header(const char *at)
{
    unsigned type = (unsigned char)at[4];

    return type >= STEP_FRAME_HELLO && type < STEP_FRAME_TYPES
           && (unsigned char)at[5] < STEP_STREAMS && at[6] == 0 && at[7] == 0
           && get_number(at) <= step_frame_limit((enum step_frame_type)type);
}

int
step_reader_next(struct step_reader *r, struct step_frame *ret_frame)
{
    size_t left = r->end - r->start;
    const char *at;
    size_t length;

    if (r->is_broken)
        return -EBADMSG;
    if (left < STEP_FRAME_HEADER)
        return 0;
    at = r->bytes + r->start;
    if (!is_header(at)) {
        r->is_broken = true;
        return -EBADMSG;
    }
    length = get_number(at);
    if (left - STEP_FRAME_HEADER < length)
        return 0;
    *ret_frame = (struct step_frame){
        .type = (enum step_frame_type)(unsigned char)at[4],
        .stream = (enum step_stream)(unsigned char)at[5],
        .task = get_number(at + 8),
        .payload = at + STEP_FRAME_HEADER,
        .length = length,
    };
    r->start += STEP_FRAME_HEADER + length;
    return 1;
}

/* ---- Windows ---- */

void
step_send_window_init(struct step_send_window *w)
{
    w->credit = STEP_WINDOW_BYTES;
}

void
step_send_window_take(struct step_send_window *w, size_t sent)
{
    assert(sent <= w->credit);
    w->credit -= (uint32_t)sent;
}

int
step_send_window_credit(struct step_send_window *w, uint32_t credit)
{
    if (credit > STEP_WINDOW_BYTES - w->credit)
        return -EBADMSG;
    w->credit += credit;
    return 0;
}

int
step_receive_window_receive(struct step_receive_window *w, size_t length)
{
    if (length > STEP_WINDOW_BYTES - w->waiting - w->owed)
        return -EBADMSG;
    w->waiting += (uint32_t)length;
    return 0;
}

uint32_t
step_receive_window_consume(struct step_receive_window *w, size_t length)
{
    uint32_t credit;

    assert(length <= w->waiting);
    w->waiting -= (uint32_t)length;
    w->owed += (uint32_t)length;
    if (w->owed < STEP_WINDOW_BYTES / 4)
        return 0;
    credit = w->owed;
    w->owed = 0;
    return credit;
}
