/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.h - converts one value that is no message of the API to JSON
 *
 * Text, bytes, numbers, and the small messages that JSON writes as one value:
 * quantities, times, a number or text.
 *
 * Thread:  any.
 */
#pragma once

#include <stdint.h>

#include "lib/json/record.h"
#include "lib/protobuf/wire_reader.h"

struct arena;
struct error;
struct json;

/* The arena for the value, the name for errors, and a limit. */
struct leaf {
    struct arena *arena;
    const char *name;
    struct error *err;
    size_t most_values; /* limit for values of embedded JSON */
};

/* -EINVAL: the value has another type on the wire, is no UTF-8, or is out of
 * range.
 */
int leaf_of_bytes(const struct leaf *l, enum field_type type, struct wire_reader bytes,
                  struct json **ret);
int leaf_of_number(const struct leaf *l, enum field_type type, uint64_t varint, struct json **ret);

/* The value of a map's entry that omits its value. */
struct json *leaf_zero(const struct leaf *l, enum field_type type);
