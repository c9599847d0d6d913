/* SPDX-License-Identifier: Apache-2.0 */
/* sigwatch.h - a signal as a callback on the loop (a signalfd)
 *
 * Blocks the signal in the calling thread, so make a watch in main() before any
 * other thread starts: other threads inherit the mask, and the signal then
 * reaches only the loop. Freeing a watch leaves the signal blocked, so that a
 * late signal does not kill the program while it exits.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct loop;
struct sigwatch;
typedef void (*sigwatch_fn)(int signal_number, void *arg);

/* Life */
void sigwatch_free(struct sigwatch *s);
struct sigwatch *sigwatch_new(struct loop *loop, int signal_number, sigwatch_fn fn, void *arg)
    OWNED_BY(sigwatch_free);
DEFINE_CLEANUP(struct sigwatch, sigwatch_free)
