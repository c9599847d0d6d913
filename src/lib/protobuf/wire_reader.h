/* SPDX-License-Identifier: Apache-2.0 */
/* wire_reader.h - reads the fields of one protobuf message in turn
 *
 * Thread: any; a reader belongs to one.
 * See: "Encoding" of the protobuf documentation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

struct wire_reader {
    const unsigned char *at;
    const unsigned char *end;
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t varint;
    struct wire_reader bytes; /* of WIRE_BYTES */
};

void wire_reader_init(struct wire_reader *r, const void *bytes, size_t length);

/* 1, 0 at the end, or -EINVAL: the message is truncated, a varint is longer
 * than 64 bits, a number is 0, or a type is none of the above (groups are not
 * supported).
 */
int wire_reader_next(struct wire_reader *r, struct wire_field *ret_field, struct error *err);
int wire_reader_varint(struct wire_reader *r, uint64_t *ret_value, struct error *err);

/* Reads a whole message of at most three fields, numbered from 1; the last
 * value of each field counts.
 */
#define WIRE_SMALL 3
int wire_reader_small(struct wire_reader bytes, struct wire_field fields[WIRE_SMALL],
                      bool found[WIRE_SMALL], struct error *err);

size_t wire_reader_left(const struct wire_reader *r);
