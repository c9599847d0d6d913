/* SPDX-License-Identifier: Apache-2.0 */
/* row_index.h - entries by their row in the database
 *
 * Only a controller that waits has one: rows that others change are known by
 * their number alone.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct entry;
struct row_index;

/* Life. */
void row_index_free(struct row_index *x);
struct row_index *row_index_new(void) OWNED_BY(row_index_free);

/* The row is not 0, and is not in the index. Remove returns its entry, or
 * NULL.
 */
void row_index_add(struct row_index *x, int64_t row, struct entry *entry);
struct entry *row_index_remove(struct row_index *x, int64_t row);

/* NULL if there is no such row. */
struct entry *row_index_find(const struct row_index *x, int64_t row);
size_t row_index_count(const struct row_index *x);
