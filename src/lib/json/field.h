/* SPDX-License-Identifier: Apache-2.0 */
/* field.h - one row of a field table, as lib/json's own files see it
 *
 * Called by:  record.c, decode.c and normalize.c, and nobody outside.
 */
#pragma once

#include "lib/json/record.h"

/* Any LIST_OF or MAP_OF. */
struct any_list {
    void *items;
    unsigned count;
};

/* Looks first where a walk in the table's order would find it; or NULL. */
const struct field *
field_find(const struct record *record, const char *name, unsigned guess);

/* Bytes of one value in a list, and of one key with its value in a map. */
size_t field_element_size(const struct field *f);
size_t field_entry_size(const struct field *f);

/* Whether the C member is a pointer to the value, and the value's bytes. */
bool field_is_pointed(const struct field *f);
size_t field_pointed_size(const struct field *f);
