/* SPDX-License-Identifier: Apache-2.0 */
/* inspection.h - lists and drops the unreadable rows of a store, for an
 * administrator
 *
 * No controller may have the store open. Blocks.
 *
 * Thread:  any; of a program that runs no controller.
 */
#pragma once

#include <stdint.h>

struct error;
struct store_location;

/* Writes a line for each such row to stdout. `drop` (or NULL): the key or the
 * number of a row to delete; its text is written to stdout instead. When run by
 * root, first becomes the directory's owner, for good. -EUCLEAN: there are such
 * rows; -ENOENT: none has that key.
 */
int store_inspect(const struct store_location *location, int64_t reserve_bytes, const char *drop,
                  struct error *err);
