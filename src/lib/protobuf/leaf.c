/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/leaf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/auth/digest.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/protobuf/wire_reader.h"

static int
refuse(const struct leaf *l, const char *why)
{
    return error_set(l->err, -EINVAL, "field '%s' %s", l->name, why);
}

/* The length of the character at `s`; 0: it is no UTF-8 (RFC 3629). */
static size_t
character_length(const unsigned char *s, size_t left)
{
    static const struct {
        unsigned char first, last;
        unsigned char second_first, second_last;
        unsigned char length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
        size_t n = forms[i].length;

        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        if (left < n)
            return 0;
        if (n > 1 && (s[1] < forms[i].second_first || s[1] > forms[i].second_last))
            return 0;
        for (size_t k = 2; k < n; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return n;
    }
    return 0;
}

/* Whether the bytes are valid text for a JSON string; no field accepts a NUL.
 */
static bool
is_utf8(struct wire_reader bytes)
{
    while (bytes.at < bytes.end) {
        size_t n = character_length(bytes.at, wire_reader_left(&bytes));

        if (n == 0)
            return false;
        bytes.at += n;
    }
    return true;
}

static struct json *
new_text(const struct leaf *l, struct wire_reader bytes)
{
    return json_string_n(l->arena, (const char *)bytes.at, wire_reader_left(&bytes));
}

static struct json *
new_base64(const struct leaf *l, struct wire_reader bytes)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    base64_encode(&text, bytes.at, wire_reader_left(&bytes));
    return json_string_n(l->arena, text.text, text.length);
}

/* Quantity: {1: text} */
static int
decode_quantity(const struct leaf *l, struct wire_reader bytes, struct json **ret)
{
    struct wire_field fields[3];
    bool found[3];
    int r = wire_reader_small(bytes, fields, found, l->err);

    if (r < 0)
        return r;
    if (!found[0] || fields[0].type != WIRE_BYTES) {
        *ret = json_string(l->arena, "0");
        return 0;
    }
    if (!is_utf8(fields[0].bytes))
        return refuse(l, "is not text in UTF-8");
    *ret = new_text(l, fields[0].bytes);
    return 0;
}

/* IntOrString: {1: 0 for a number, 1 for text; 2: number; 3: text} */
static int
decode_int_or_string(const struct leaf *l, struct wire_reader bytes, struct json **ret)
{
    struct wire_field fields[3];
    bool found[3];
    int r = wire_reader_small(bytes, fields, found, l->err);

    if (r < 0)
        return r;
    if (fields[0].varint == 0)
        *ret = json_int(l->arena, (int32_t)(uint32_t)fields[1].varint);
    else if (fields[0].varint != 1)
        return refuse(l, "is neither a number nor text");
    else if (fields[2].type == WIRE_BYTES && !is_utf8(fields[2].bytes))
        return refuse(l, "is not text in UTF-8");
    else if (fields[2].type == WIRE_BYTES)
        *ret = new_text(l, fields[2].bytes);
    else
        *ret = json_string(l->arena, "");
    return 0;
}

/* Time: {1: seconds since 1970; 2: nanoseconds}; a zero time becomes null. */
static int
decode_time(const struct leaf *l, bool is_micro, struct wire_reader bytes, struct json **ret)
{
    static const int64_t first_s = -62135596800, last_s = 253402300799;
    char text[TIME_TEXT_SIZE];
    struct wire_field fields[3];
    bool found[3];
    int64_t seconds, nanos;
    int r = wire_reader_small(bytes, fields, found, l->err);

    if (r < 0)
        return r;
    seconds = (int64_t)fields[0].varint;
    nanos = (int32_t)(uint32_t)fields[1].varint;
    if (seconds == 0 && nanos == 0) {
        *ret = json_null(l->arena);
        return 0;
    }
    if (seconds < first_s || seconds > last_s || nanos < 0 || nanos >= 1000000000)
        return refuse(l, "is not a time in the years 1 to 9999");
    time_format(seconds * 1000000 + nanos / 1000, is_micro, text);
    *ret = json_string(l->arena, text);
    return 0;
}

/* FieldsV1 and similar types: {1: JSON} */
static int
decode_raw(const struct leaf *l, struct wire_reader bytes, struct json **ret)
{
    struct wire_field fields[3];
    bool found[3];
    int r = wire_reader_small(bytes, fields, found, l->err);

    if (r < 0)
        return r;
    if (!found[0] || fields[0].type != WIRE_BYTES) {
        *ret = json_null(l->arena);
        return 0;
    }
    *ret = json_parse_bounded(l->arena, (const char *)fields[0].bytes.at,
                              wire_reader_left(&fields[0].bytes), l->most_values, NULL, l->err);
    return *ret != NULL ? 0 : refuse(l, "contains no JSON");
}

int
leaf_of_bytes(const struct leaf *l, enum field_type type, struct wire_reader bytes,
              struct json **ret)
{
    switch (type) {
    case FIELD_STRING:
        if (!is_utf8(bytes))
            return refuse(l, "is not text in UTF-8");
        *ret = new_text(l, bytes);
        return 0;
    case FIELD_BYTES:
        *ret = new_base64(l, bytes);
        return 0;
    case FIELD_QUANTITY:
        return decode_quantity(l, bytes, ret);
    case FIELD_INT_OR_STRING:
        return decode_int_or_string(l, bytes, ret);
    case FIELD_TIME:
        return decode_time(l, false, bytes, ret);
    case FIELD_MICRO_TIME:
        return decode_time(l, true, bytes, ret);
    case FIELD_ANY:
        return decode_raw(l, bytes, ret);
    default:
        return refuse(l, "has another wire type");
    }
}

int
leaf_of_number(const struct leaf *l, enum field_type type, uint64_t varint, struct json **ret)
{
    switch (type) {
    case FIELD_BOOL:
        *ret = json_bool(l->arena, varint != 0);
        return 0;
    case FIELD_INT: /* 32 bits; higher bits are ignored */
        *ret = json_int(l->arena, (int32_t)(uint32_t)varint);
        return 0;
    case FIELD_INT64:
        *ret = json_int(l->arena, (int64_t)varint);
        return 0;
    default:
        return refuse(l, "has another wire type");
    }
}

struct json *
leaf_zero(const struct leaf *l, enum field_type type)
{
    if (type == FIELD_OBJECT)
        return json_object(l->arena);
    return json_string(l->arena, type == FIELD_QUANTITY ? "0" : "");
}
