/* SPDX-License-Identifier: Apache-2.0 */
/* inspection.h - the rows of a store that cannot be read, for an administrator
 *
 * Of a store that no controller has open. Blocks.
 *
 * Thread:  any; of a program that runs no controller.
 */
#pragma once

#include <stdint.h>

struct error;

/* Writes a line for each such row to stdout. `drop` (or NULL): the key or the
 * number of one that goes; what stood in it is written to stdout instead. As
 * root, becomes the directory's owner first, for good. -EUCLEAN: there are
 * some; -ENOENT: there is none of that key.
 */
int store_inspect(const char *directory,
                  int64_t reserve_bytes,
                  const char *drop,
                  struct error *err);
