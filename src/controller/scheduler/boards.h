/* SPDX-License-Identifier: Apache-2.0 */
/* boards.h - the boards that are kept, one a signature, those used last
 *
 * Owns:    the boards.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct board;
struct boards;
struct profile;

/* Life. Bytes: of all together; 0: 64 MiB. */
void boards_free(struct boards *bs);
struct boards *boards_new(size_t bytes) OWNED_BY(boards_free);
DEFINE_CLEANUP(struct boards, boards_free)

/* The signature's, made when it is not there. Bound: drops those that were
 * not used for longest, when they are too many of the size of this one.
 */
struct board *boards_get(struct boards *bs,
                         const struct profile *profile,
                         uint32_t signature);
void boards_bound(struct boards *bs, const struct board *used);
