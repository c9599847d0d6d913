/* SPDX-License-Identifier: Apache-2.0 */
/* disk_reserve.h - the reserve: a file that keeps some of the disk for the day
 * when it is full
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

struct disk_reserve;

/* Life. `bytes`: at the most; an eighth of a small file system. Close leaves
 * the reserve where it is.
 */
void disk_reserve_close(struct disk_reserve *s);
struct disk_reserve *disk_reserve_open(const char *directory, int64_t bytes)
    OWNED_BY(disk_reserve_close);

/* Change. Hold: true when the reserve is there and as much again is free.
 * Release: true when there was something to release.
 */
bool disk_reserve_hold(struct disk_reserve *s);
bool disk_reserve_release(struct disk_reserve *s);

/* Look: bytes of the reserve, and those that others than root may still write.
 */
int64_t disk_reserve_bytes(const struct disk_reserve *s);
int64_t disk_reserve_available(const struct disk_reserve *s);
