/* SPDX-License-Identifier: Apache-2.0 */
/* line_table.h - the line of a text where a value is
 *
 * Initialize it with {0}. Lines are counted from 1; values are borrowed, and
 * only their pointers are compared.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json;
struct line_entry;

struct line_table {
    struct line_entry *entries;
    size_t count;
    size_t capacity;
    bool is_sorted;
};

void line_table_fini(struct line_table *t);

void line_table_add(struct line_table *t, const struct json *value, unsigned line);
void line_table_clear(struct line_table *t);

/* 0 when the value is unknown. The first call after an addition sorts the
 * table.
 */
unsigned line_table_find(struct line_table *t, const struct json *value);
