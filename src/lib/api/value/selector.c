/* SPDX-License-Identifier: Apache-2.0 */
/* selector.c - matching of the selectors that objects contain */
#include "lib/api/value/selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/name.h"

enum operator_kind {
    OPERATOR_IN,
    OPERATOR_NOT_IN,
    OPERATOR_EXISTS,
    OPERATOR_DOES_NOT_EXIST,
    OPERATOR_GREATER,
    OPERATOR_LESS,
    OPERATOR_UNKNOWN,
};

static enum operator_kind
operator_of(const struct selector_requirement *r)
{
    static const char *const names[] = {
        [OPERATOR_IN] = "In",         [OPERATOR_NOT_IN] = "NotIn",
        [OPERATOR_EXISTS] = "Exists", [OPERATOR_DOES_NOT_EXIST] = "DoesNotExist",
        [OPERATOR_GREATER] = "Gt",    [OPERATOR_LESS] = "Lt",
    };

    for (unsigned i = 0; r->operator_ != NULL && i < OPERATOR_UNKNOWN; i++)
        if (strcmp(names[i], r->operator_) == 0)
            return (enum operator_kind)i;
    return OPERATOR_UNKNOWN;
}

static int
read_integer(const char *text, int64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoll(text, &end, 10);
    return end == text || *end != '\0' || errno != 0 || strspn(text, "+-0123456789") != strlen(text)
               ? -EINVAL
               : 0;
}

/* Whether the requirement is valid. Upstream refuses an invalid requirement and
 * with it the whole selector.
 */
static bool
is_sound(const struct selector_requirement *r, enum operator_kind op)
{
    int64_t bound;

    if (r->key == NULL || !name_is_valid(NAME_QUALIFIED, r->key))
        return false;
    for (unsigned i = 0; i < r->values.count; i++)
        if (!name_is_valid(NAME_LABEL_VALUE, r->values.items[i]))
            return false;
    switch (op) {
    case OPERATOR_IN:
    case OPERATOR_NOT_IN:
        return r->values.count > 0;
    case OPERATOR_EXISTS:
    case OPERATOR_DOES_NOT_EXIST:
        return r->values.count == 0;
    case OPERATOR_GREATER:
    case OPERATOR_LESS:
        return r->values.count == 1 && read_integer(r->values.items[0], &bound) == 0;
    case OPERATOR_UNKNOWN:
        break;
    }
    return false;
}

static bool
is_among(const struct selector_requirement *r, const char *value)
{
    for (unsigned i = 0; i < r->values.count; i++)
        if (strcmp(r->values.items[i], value) == 0)
            return true;
    return false;
}

static bool
requirement_matches(const struct selector_requirement *r, enum operator_kind op, const char *value)
{
    int64_t number, bound;

    switch (op) {
    case OPERATOR_IN:
        return value != NULL && is_among(r, value);
    case OPERATOR_NOT_IN:
        return value == NULL || !is_among(r, value);
    case OPERATOR_EXISTS:
        return value != NULL;
    case OPERATOR_DOES_NOT_EXIST:
        return value == NULL;
    case OPERATOR_GREATER:
    case OPERATOR_LESS:
        if (value == NULL || read_integer(value, &number) < 0
            || read_integer(r->values.items[0], &bound) < 0)
            return false;
        return op == OPERATOR_GREATER ? number > bound : number < bound;
    case OPERATOR_UNKNOWN:
        break;
    }
    return false;
}

static bool
label_requirement_matches(const struct selector_requirement *r, const struct string_map *labels,
                          bool compares)
{
    enum operator_kind op = operator_of(r);

    if (!compares && op >= OPERATOR_GREATER)
        return false;
    return is_sound(r, op) && requirement_matches(r, op, string_map_find(labels, r->key));
}

bool
label_selector_matches(const struct label_selector *selector, const struct string_map *labels)
{
    if (selector == NULL)
        return false;
    for (unsigned i = 0; i < selector->match_labels.count; i++) {
        const struct string_entry *wanted = &selector->match_labels.items[i];
        const char *value = string_map_find(labels, wanted->key);

        if (value == NULL || strcmp(value, wanted->value) != 0)
            return false;
    }
    for (unsigned i = 0; i < selector->match_expressions.count; i++)
        if (!label_requirement_matches(&selector->match_expressions.items[i], labels, false))
            return false;
    return true;
}

/* Two of 64 bits, chosen by a hash (FNV-1a). */
static uint64_t
bits_of(const char *key, const char *value)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *c = key; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    hash = (hash ^ '=') * UINT64_C(1099511628211);
    for (const char *c = value; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    /* Mixes the last characters, in which names of jobs differ, into all bits.
     */
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    return UINT64_C(1) << (hash >> 58) | UINT64_C(1) << (hash >> 52 & 63);
}

uint64_t
label_bits(const struct string_map *labels)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < labels->count; i++)
        bits |= bits_of(labels->items[i].key, labels->items[i].value);
    return bits;
}

uint64_t
label_selector_bits(const struct label_selector *selector)
{
    uint64_t bits;

    if (selector == NULL)
        return 0;
    bits = label_bits(&selector->match_labels);
    for (unsigned i = 0; i < selector->match_expressions.count; i++) {
        const struct selector_requirement *r = &selector->match_expressions.items[i];

        if (operator_of(r) == OPERATOR_IN && r->values.count == 1 && r->key != NULL)
            bits |= bits_of(r->key, r->values.items[0]);
    }
    return bits;
}

/* Only the node's name is supported, with In or NotIn and one value. */
static bool
field_requirement_matches(const struct selector_requirement *r, const char *node_name)
{
    enum operator_kind op = operator_of(r);

    if (op > OPERATOR_NOT_IN || r->values.count != 1)
        return false;
    /* Upstream uses the empty text for a field that does not exist. */
    return requirement_matches(
        r, op, r->key != NULL && strcmp(r->key, "metadata.name") == 0 ? node_name : "");
}

bool
node_selector_term_matches(const struct node_selector_term *term, const struct string_map *labels,
                           const char *node_name)
{
    if (term->match_expressions.count == 0 && term->match_fields.count == 0)
        return false;
    for (unsigned i = 0; i < term->match_expressions.count; i++)
        if (!label_requirement_matches(&term->match_expressions.items[i], labels, true))
            return false;
    for (unsigned i = 0; i < term->match_fields.count; i++)
        if (!field_requirement_matches(&term->match_fields.items[i], node_name))
            return false;
    return true;
}

bool
node_selector_matches(const struct node_selector *selector, const struct string_map *labels,
                      const char *node_name)
{
    for (unsigned i = 0; i < selector->terms.count; i++)
        if (node_selector_term_matches(&selector->terms.items[i], labels, node_name))
            return true;
    return false;
}

bool
node_selector_is_valid(const struct node_selector *selector)
{
    for (unsigned i = 0; i < selector->terms.count; i++) {
        const struct node_selector_term *term = &selector->terms.items[i];

        for (unsigned r = 0; r < term->match_expressions.count; r++) {
            const struct selector_requirement *requirement = &term->match_expressions.items[r];

            if (!is_sound(requirement, operator_of(requirement)))
                return false;
        }
    }
    return true;
}
