/* SPDX-License-Identifier: Apache-2.0 */
/* fdwatch.h - a callback when a descriptor can be read or written
 *
 * Level-triggered. The caller owns the descriptor and frees the watch before
 * closing it. The callback may free its watch.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

#define FDWATCH_READ  1u
#define FDWATCH_WRITE 2u
#define FDWATCH_END   4u /* the peer sends nothing more, or is gone; only alone */

struct fdwatch;
struct loop;
typedef void (*fdwatch_fn)(int fd, unsigned ready, void *arg);

/* Life. `wanted` is any of the flags, or 0 for a paused watch. */
void fdwatch_free(struct fdwatch *w);
struct fdwatch *fdwatch_new(struct loop *loop, int fd, unsigned wanted, fdwatch_fn fn, void *arg)
    OWNED_BY(fdwatch_free);
DEFINE_CLEANUP(struct fdwatch, fdwatch_free)

void fdwatch_want(struct fdwatch *w, unsigned wanted);
