/* SPDX-License-Identifier: Apache-2.0 */
/* boards.h - the boards that are kept, one a signature, those used last
 *
 * Owns:    the boards.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct board;
struct boards;
struct profile;
struct snapshot;

/* Life. Bytes: of all together; 0: 64 MiB. */
void boards_free(struct boards *bs);
struct boards *boards_new(size_t bytes) OWNED_BY(boards_free);
DEFINE_CLEANUP(struct boards, boards_free)

/* The signature's, made when it is not there. */
struct board *boards_get(struct boards *bs,
                         const struct profile *profile,
                         uint32_t signature);

/* Whether a choice for that signature should go by a board, when without one
 * it costs what looking at so many nodes does. One that is there, when fewer
 * nodes have changed; one that is not, or must be made anew because nodes came
 * or went, when all the times that it was asked for since would have saved as
 * much as it costs to make.
 */
bool boards_are_worth(struct boards *bs,
                      uint32_t signature,
                      const struct snapshot *s,
                      unsigned cost);

/* Drops those that were not used for longest, when they are too many of the
 * size of this one.
 */
void boards_bound(struct boards *bs, const struct board *used);
