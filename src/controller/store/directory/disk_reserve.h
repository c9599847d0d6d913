/* SPDX-License-Identifier: Apache-2.0 */
/* disk_reserve.h - the reserve: a file that keeps some space of the disk for
 * when it is full
 *
 * Releasing the reserve makes room for what a read-only store still writes:
 * removals, and the counters.
 *
 * Thread:  the loop's. Holding allocates blocks, which is quick if the file
 *          system supports fallocate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct disk_reserve;

/* Life. `bytes`: the size at most; less on a small file system, of which it
 * takes at most an eighth. Close does not release the reserve.
 */
void disk_reserve_close(struct disk_reserve *s);
struct disk_reserve *disk_reserve_open(const char *directory, int64_t bytes)
    OWNED_BY(disk_reserve_close);

/* Hold: true if the reserve is allocated, and, when it is newly
 * allocated, as much again was free. Release: true if there was a reserve.
 */
bool disk_reserve_hold(struct disk_reserve *s);
bool disk_reserve_release(struct disk_reserve *s);

/* Bytes of the reserve; bytes that users other than root may still write.
 */
int64_t disk_reserve_bytes(const struct disk_reserve *s);
int64_t disk_reserve_available(const struct disk_reserve *s);
