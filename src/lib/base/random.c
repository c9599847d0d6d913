/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void
random_bytes(void *out, size_t length)
{
    unsigned char *p = out;

    while (length > 0) {
        ssize_t n = getrandom(p, length, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            abort();
        p += n;
        length -= (size_t)n;
    }
}

void
random_uuid(char out[UUID_SIZE])
{
    unsigned char b[16];

    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(out,
             UUID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0],
             b[1],
             b[2],
             b[3],
             b[4],
             b[5],
             b[6],
             b[7],
             b[8],
             b[9],
             b[10],
             b[11],
             b[12],
             b[13],
             b[14],
             b[15]);
}

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014.
 */
uint64_t
random_next(struct random_source *source)
{
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t
random_below(struct random_source *source, uint64_t below)
{
    uint64_t threshold = -below % below;
    uint64_t r;

    do {
        r = random_next(source);
    } while (r < threshold);
    return r % below;
}
