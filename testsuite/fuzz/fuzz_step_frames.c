/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_step_frames.c - any bytes on a step's connection: the frames are the same for
 * one piece and byte by byte, and what they say is read without a fault
 */
#include <stdlib.h>
#include <string.h>

#include "lib/step/step_frames.h"
#include "testsuite/fuzz/fuzz.h"

struct seen {
    struct step_reader reader;
    size_t n_frames, n_bytes;
    uint64_t sum;
    int result;
};

static void
receive(struct seen *s, const uint8_t *bytes, size_t length)
{
    struct step_frame f;
    size_t room;
    char *at;

    while (length > 0) {
        size_t n;

        at = step_reader_space(&s->reader, &room);
        n = room < length ? room : length;
        memcpy(at, bytes, n);
        step_reader_add(&s->reader, n);
        bytes += n;
        length -= n;
    }
    while ((s->result = step_reader_next(&s->reader, &f)) == 1) {
        struct step_exit end;
        uint16_t rows, columns;
        uint32_t number;

        s->n_frames++;
        s->n_bytes += f.length;
        if (f.length > step_frame_limit(f.type))
            abort();
        for (size_t i = 0; i < f.length; i++)
            s->sum = s->sum * 31 + (unsigned char)f.payload[i];
        s->sum = s->sum * 31 + f.type + f.stream + f.task;
        if (step_frame_number(&f, &number) == 0)
            s->sum += number;
        if (step_frame_size(&f, &rows, &columns) == 0 && STEP_SIZE(rows, columns) != number)
            abort();
        if (step_frame_exit(&f, &end) == 0 && end.message_length + 9 != f.length)
            abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct seen whole = {0}, pieces = {0};

    receive(&whole, bytes, length);
    for (size_t i = 0; i < length; i++)
        receive(&pieces, bytes + i, 1);
    if (whole.result != pieces.result || whole.n_frames != pieces.n_frames
        || whole.n_bytes != pieces.n_bytes || whole.sum != pieces.sum)
        abort();
    step_reader_fini(&whole.reader);
    step_reader_fini(&pieces.reader);
    return 0;
}
