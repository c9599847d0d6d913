/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/dictionary_text.h"

#include <lz4.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"

/* Twice as fast as 1 and no larger: differences are short, matches are long. */
#define ACCELERATION 2

struct dictionary_packer {
    LZ4_stream_t stream;
};

struct dictionary_text {
    LZ4_stream_t stream;
};

struct dictionary_packer *
dictionary_packer_new(void)
{
    return xnew(struct dictionary_packer);
}

void
dictionary_packer_free(struct dictionary_packer *packer)
{
    free(packer);
}

struct dictionary_text *
dictionary_text_new(struct text_span beside)
{
    struct dictionary_text *d = xnew(struct dictionary_text);

    (void)LZ4_loadDict(&d->stream, beside.text, (int)beside.length);
    return d;
}

void
dictionary_text_free(struct dictionary_text *d)
{
    free(d);
}

/* Copying the stream gives each text a fresh dictionary. LZ4_attach_dictionary,
 * which does so without a copy, is not exported by Debian's library (lz4.h).
 */
size_t
dictionary_text_pack(struct dictionary_packer *packer, const struct dictionary_text *beside,
                     struct text_span text, char *out, size_t capacity)
{
    packer->stream = beside->stream;
    return (size_t)LZ4_compress_fast_continue(&packer->stream, text.text, out, (int)text.length,
                                              (int)capacity, ACCELERATION);
}

void
dictionary_text_unpack(struct text_span beside, struct text_span packed, char *out, size_t length)
{
    int n = LZ4_decompress_safe_usingDict(packed.text, out, (int)packed.length, (int)length,
                                          beside.text, (int)beside.length);

    if (n != (int)length) { /* memory was corrupted */
        log_error("a compressed text in memory cannot be decoded");
        abort();
    }
}
