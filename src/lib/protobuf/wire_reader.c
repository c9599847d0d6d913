/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/wire_reader.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

#define MAX_NUMBER ((1u << 29) - 1)

/* The errors have the words of upstream's decoder. */
static int
breaks_off(struct error *err)
{
    return error_set(err, -EINVAL, "unexpected EOF");
}

void
wire_reader_init(struct wire_reader *r, const void *bytes, size_t length)
{
    r->at = bytes;
    r->end = r->at + length;
}

size_t
wire_reader_left(const struct wire_reader *r)
{
    return (size_t)(r->end - r->at);
}

int
wire_reader_varint(struct wire_reader *r, uint64_t *ret_value, struct error *err)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte;

        if (r->at == r->end)
            return breaks_off(err);
        byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return 0;
        }
    }
    return error_set(err, -EINVAL, "proto: integer overflow");
}

static int
skip(struct wire_reader *r, uint64_t count, struct error *err)
{
    if (count > wire_reader_left(r))
        return breaks_off(err);
    r->at += count;
    return 0;
}

static int
read_bytes(struct wire_reader *r, struct wire_reader *ret, struct error *err)
{
    const unsigned char *from;
    uint64_t length;
    int code = wire_reader_varint(r, &length, err);

    from = r->at;
    if (code == 0)
        code = skip(r, length, err);
    if (code == 0)
        wire_reader_init(ret, from, (size_t)length);
    return code;
}

static int
read_value(struct wire_reader *r, struct wire_field *f, struct error *err)
{
    switch (f->type) {
    case WIRE_VARINT:
        return wire_reader_varint(r, &f->varint, err);
    case WIRE_FIXED64:
        return skip(r, 8, err);
    case WIRE_BYTES:
        return read_bytes(r, &f->bytes, err);
    case WIRE_FIXED32:
        return skip(r, 4, err);
    }
    return error_set(err, -EINVAL, "proto: illegal wireType %u", (unsigned)f->type);
}

int
wire_reader_next(struct wire_reader *r, struct wire_field *ret_field, struct error *err)
{
    struct wire_field f = {0};
    uint64_t tag;
    int code;

    if (r->at == r->end)
        return 0;
    code = wire_reader_varint(r, &tag, err);
    if (code < 0)
        return code;
    if (tag >> 3 == 0 || tag >> 3 > MAX_NUMBER)
        return error_set(err, -EINVAL, "proto: illegal tag");
    f.number = (uint32_t)(tag >> 3);
    f.type = (enum wire_type)(tag & 7);
    code = read_value(r, &f, err);
    if (code < 0)
        return code;
    *ret_field = f;
    return 1;
}

int
wire_reader_small(struct wire_reader bytes, struct wire_field fields[WIRE_SMALL],
                  bool found[WIRE_SMALL], struct error *err)
{
    struct wire_field f;
    int r;

    memset(fields, 0, WIRE_SMALL * sizeof(*fields));
    memset(found, 0, WIRE_SMALL * sizeof(*found));
    while ((r = wire_reader_next(&bytes, &f, err)) > 0)
        if (f.number <= WIRE_SMALL) {
            fields[f.number - 1] = f;
            found[f.number - 1] = true;
        }
    return r;
}
