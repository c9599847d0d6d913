/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/pmix_message.h"

#include <errno.h>

#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"

/* Kind, whether more follows, two zero bytes, number, id; big endian. */
#define HEADER      16u
#define PIECE_BYTES (STEP_FRAME_BYTES - HEADER)

static void
put(char *out, uint64_t number, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        out[i] = (char)(number >> (8 * (n - 1 - i)));
}

static uint64_t
get(const char *from, unsigned n)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < n; i++)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

void
pmix_message_add(struct strbuf *out, const struct pmix_message *m)
{
    size_t at = 0;

    do {
        const size_t left = m->length - at;
        const size_t length = left < PIECE_BYTES ? left : PIECE_BYTES;
        char *header = strbuf_extend(out, STEP_FRAME_HEADER);

        step_frame_encode_header(
            &(struct step_frame){
                .type = STEP_FRAME_PMIX,
                .task = STEP_ALL_TASKS,
                .length = HEADER + length,
            },
            header);
        header = strbuf_extend(out, HEADER);
        put(header, m->kind, 1);
        put(header + 1, m->has_more || length < left, 1);
        put(header + 2, 0, 2);
        put(header + 4, m->number, 4);
        put(header + 8, m->id, 8);
        if (length > 0)
            strbuf_add(out, m->bytes + at, length);
        at += length;
    } while (at < m->length);
}

int
pmix_message_read(const struct step_frame *frame, struct pmix_message *ret_message)
{
    const char *p = frame->payload;

    if (frame->type != STEP_FRAME_PMIX || frame->length < HEADER || p[0] <= 0 || p[0] >= PMIX_KINDS
        || (p[1] != 0 && p[1] != 1))
        return -EBADMSG;
    *ret_message = (struct pmix_message){
        .kind = (enum pmix_message_kind)p[0],
        .has_more = p[1] == 1,
        .number = (uint32_t)get(p + 4, 4),
        .id = get(p + 8, 8),
        .bytes = p + HEADER,
        .length = frame->length - HEADER,
    };
    return 0;
}
