/* SPDX-License-Identifier: Apache-2.0 */
/* Processes eight bytes at a time: with the processor's instruction for this
 * polynomial if there is one, otherwise with a table for each of the eight
 * positions.
 */
#include "controller/store/engine/checksum.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "controller/store/engine/engine.h"
#include "lib/base/error.h"

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int place = 1; place < 8; place++) {
            uint32_t crc = tables[place - 1][i];

            tables[place][i] = (crc >> 8) ^ tables[0][crc & 0xff];
        }
}

static uint32_t
add_by_tables(uint32_t crc, const unsigned char *at, size_t length)
{
    pthread_once(&once, make_tables);
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;

        memcpy(&word, at, sizeof(word));
        word = le64toh(word) ^ crc;
        crc = 0;
        for (int place = 0; place < 8; place++)
            crc ^= tables[7 - place][(word >> (8 * place)) & 0xff];
    }
    for (; length > 0; length--, at++)
        crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
    return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t
add_by_instruction(uint32_t crc, const unsigned char *at, size_t length)
{
    uint64_t wide = crc;

    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;

        memcpy(&word, at, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; length > 0; length--, at++)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return crc;
}
#endif

/* Continues from `crc`, which starts as 0. */
static uint32_t
add(uint32_t crc, const void *bytes, size_t length)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~add_by_instruction(~crc, bytes, length);
#endif
    return ~add_by_tables(~crc, bytes, length);
}

uint32_t
checksum_of(int64_t row, int64_t revision, const char *text, size_t length)
{
    const uint64_t numbers[] = {
        htole64((uint64_t)row),
        htole64((uint64_t)revision),
    };

    return add(add(0, numbers, sizeof(numbers)), text, length);
}

static int
verify(const struct engine_sum *sum, int64_t row, int64_t revision, const char *text, size_t length,
       struct error *err)
{
    if (!sum->is_there || sum->value == checksum_of(row, revision, text, length))
        return 0;
    return error_set(err, -EUCLEAN, "what was written at revision %" PRId64 " has another checksum",
                     revision);
}

int
checksum_verify(const struct engine_row *row, struct error *err)
{
    int r = verify(&row->sum, row->row, row->revision, row->body, row->length, err);

    for (size_t i = 0; r == 0 && i < row->n_deltas; i++) {
        const struct engine_delta *d = &row->deltas[i];

        r = verify(&d->sum, row->row, d->revision, d->patch, d->length, err);
    }
    return r;
}
