/* SPDX-License-Identifier: Apache-2.0 */
/* json_equality.c - equality of values, and a hash that agrees with it */
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/map.h"

static bool
members_equal(const struct json *a, const struct json *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct json_member *m = &a->members[i];
        /* The order is usually the same, so try the same position first. */
        const struct json *other =
            b->members[i].name == m->name || strcmp(b->members[i].name, m->name) == 0
                ? b->members[i].value
                : json_get(b, m->name);

        if (other == NULL || !json_equals(m->value, other))
            return false;
    }
    return true;
}

static bool
numbers_equal(const struct json *a, const struct json *b)
{
    int64_t x, y;

    if (strcmp(a->text, b->text) == 0)
        return true;
    if (json_to_int(a, &x) == 0 && json_to_int(b, &y) == 0)
        return x == y;
    return strtod(a->text, NULL) == strtod(b->text, NULL);
}

bool
json_equals(const struct json *a, const struct json *b)
{
    if (a == b)
        return true;
    if (a == NULL || b == NULL || a->type != b->type)
        return false;
    switch (a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_NUMBER:
        return numbers_equal(a, b);
    case JSON_STRING:
        return a->count == b->count && memcmp(a->text, b->text, a->count) == 0;
    case JSON_ARRAY:
        for (uint32_t i = 0; i < a->count && a->count == b->count; i++)
            if (!json_equals(a->items[i], b->items[i]))
                return false;
        return a->count == b->count;
    case JSON_OBJECT:
        return a->count == b->count && members_equal(a, b);
    }
    return false;
}

static uint64_t
hash_number(const struct json *value)
{
    double number = strtod(value->text, NULL) + 0.0; /* + 0.0 turns -0 into 0 */

    return map_hash(&number, sizeof(number));
}

uint64_t
json_hash(const struct json *value)
{
    uint64_t parts[2] = {(uint64_t)value->type, 0};

    switch (value->type) {
    case JSON_NULL:
        break;
    case JSON_BOOL:
        parts[1] = value->boolean;
        break;
    case JSON_NUMBER:
        return hash_number(value);
    case JSON_STRING:
        return map_hash(value->text, value->count);
    case JSON_ARRAY:
        for (uint32_t i = 0; i < value->count; i++) {
            parts[1] += json_hash(value->items[i]);
            parts[1] = map_hash(parts, sizeof(parts));
        }
        break;
    case JSON_OBJECT: /* independent of the order */
        for (uint32_t i = 0; i < value->count; i++) {
            const struct json_member *m = &value->members[i];
            uint64_t pair[2] = {map_hash(m->name, strlen(m->name)), json_hash(m->value)};

            parts[1] += map_hash(pair, sizeof(pair));
        }
        break;
    }
    return map_hash(parts, sizeof(parts));
}
