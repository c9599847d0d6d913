/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.h - one value on the wire, that is no message of the API's, as JSON
 *
 * Text, bytes, numbers, and the small messages of the machinery that JSON
 * writes as one value: quantities, times, a number or text.
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

/* For whom: what it is made in, and what a refusal names. */
struct leaf {
    struct arena *arena;
    const char *name;
    struct error *err;
    size_t most_values; /* of JSON inside */
};

/* -EINVAL: of another type on the wire, no UTF-8, out of range. */
int leaf_of_bytes(const struct leaf *l,
                  enum field_type type,
                  struct wire_reader bytes,
                  struct json **ret);
int leaf_of_number(const struct leaf *l,
                   enum field_type type,
                   uint64_t varint,
                   struct json **ret);

/* The value of a map's entry that was left out. */
struct json *leaf_zero(const struct leaf *l, enum field_type type);
