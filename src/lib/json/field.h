/* SPDX-License-Identifier: Apache-2.0 */
/* field.h - one row of a field table, for the files of lib/json
 *
 * Called by:  only record.c, measure.c, decode.c, copy.c, normalize.c and
 *             text_patch.c.
 * Thread:     any.
 */
#pragma once

#include <string.h>

#include "lib/json/json.h"
#include "lib/json/record.h"

/* The layout of every LIST_OF and MAP_OF. */
struct any_list {
    void *items;
    unsigned count;
};

/* The field of that name, or NULL. The search starts at `guess`, where a walk
 * in the table's order expects the field.
 */
const struct field *field_find(const struct record *record, const char *name, unsigned guess);

/* Bytes of one value in a list, and of one key with its value in a map. */
size_t field_element_size(const struct field *f);
size_t field_entry_size(const struct field *f);

/* Whether the C member is a pointer to the value, and the size of the value. */
bool field_is_pointed(const struct field *f);
size_t field_pointed_size(const struct field *f);

/* The field of a member that has a value, if the struct binds it. */
const struct field *field_bound(const struct record *record, const struct json_member *m,
                                unsigned *guess);
enum field_type field_bound_type(const struct field *f);

/* Whether that C member has its empty value. */
bool field_is_zero(const struct field *f, const void *member);

/* --- the two walks of measure.c and decode.c -------------------------------
 */

/* The value that `like`, a struct decoded earlier, has at the place that the
 * walk has reached; NULL if it has none there.
 */
static inline const void *
field_in(const struct field *f, const void *like)
{
    return like != NULL ? (const char *)like + f->offset : NULL;
}

static inline const void *
field_pointed(const void *like)
{
    return like != NULL ? *(const void *const *)like : NULL;
}

static inline const void *
field_item(const struct any_list *like, size_t size, uint32_t i)
{
    return like != NULL && i < like->count ? (const char *)like->items + i * size : NULL;
}

static inline const char *
field_entry_key(const void *entry)
{
    return entry != NULL ? *(const char *const *)entry : NULL;
}

static inline const void *
field_entry_value(const char *entry)
{
    return entry != NULL ? entry + sizeof(char *) : NULL;
}

static inline bool
field_text_is(const char *like, const char *text, size_t length)
{
    return like != NULL && strlen(like) == length && memcmp(like, text, length) == 0;
}

static inline bool
field_is_filled(const struct json *v, enum json_type type)
{
    return v->type == type && v->count > 0;
}

static inline size_t
record_padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}
