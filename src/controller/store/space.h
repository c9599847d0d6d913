/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - the reserve: a file that keeps some of the disk for the day when
 * it is full
 *
 * Releasing it makes room for what a store that only reads still writes:
 * removals, and the counters.
 *
 * Thread:  the loop's. Holding allocates blocks, which is quick where the file
 *          system can (fallocate).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct space;

/* Life. `bytes`: at the most; an eighth of a small file system. Close leaves
 * the reserve where it is.
 */
void space_close(struct space *s);
struct space *space_open(const char *directory, int64_t bytes)
    OWNED_BY(space_close);

/* Change. Hold: true when the reserve is there and as much again is free.
 * Release: true when there was something to release.
 */
bool space_hold(struct space *s);
bool space_release(struct space *s);

/* Look: bytes of the reserve, and those that others than root may still write.
 */
int64_t space_reserve(const struct space *s);
int64_t space_free(const struct space *s);
