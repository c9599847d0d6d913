/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/pack.h"

#include <lz4.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"

/* Twice as fast as 1 and no larger: what differs is short, the rest is long. */
#define ACCELERATION 2

struct packer {
    LZ4_stream_t stream;
};

struct packer *
packer_new(void)
{
    return xnew(struct packer);
}

void
packer_free(struct packer *packer)
{
    free(packer);
}

size_t
packer_pack(struct packer *packer,
            struct pack_text beside,
            struct pack_text text,
            char *out,
            size_t capacity)
{
    (void)LZ4_loadDict(&packer->stream, beside.text, (int)beside.length);
    return (size_t)LZ4_compress_fast_continue(&packer->stream,
                                              text.text,
                                              out,
                                              (int)text.length,
                                              (int)capacity,
                                              ACCELERATION);
}

void
pack_open(struct pack_text beside,
          struct pack_text packed,
          char *out,
          size_t length)
{
    int n = LZ4_decompress_safe_usingDict(packed.text,
                                          out,
                                          (int)packed.length,
                                          (int)length,
                                          beside.text,
                                          (int)beside.length);

    if (n != (int)length) { /* memory was overwritten */
        log_error("a text in memory cannot be read any more");
        abort();
    }
}
