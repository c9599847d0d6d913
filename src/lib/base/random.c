/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/random.h"

#include <errno.h>
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
    static const char hex[] = "0123456789abcdef";
    unsigned char b[16];

    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (unsigned i = 0; i < sizeof(b); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = hex[b[i] >> 4];
        *out++ = hex[b[i] & 15];
    }
    *out = '\0';
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
