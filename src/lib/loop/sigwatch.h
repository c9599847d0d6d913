/* SPDX-License-Identifier: Apache-2.0 */
/* sigwatch.h - a signal as a callback on the loop (a signalfd)
 *
 * Blocks the signal in the calling thread, so make these in main() before any
 * other thread starts: those inherit the mask, and the signal then reaches
 * the loop alone. Freeing one leaves the signal blocked, so that a late one
 * does not kill the program on its way out.
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
struct sigwatch *
sigwatch_new(struct loop *loop, int signal_number, sigwatch_fn fn, void *arg)
    OWNED_BY(sigwatch_free);
DEFINE_CLEANUP(struct sigwatch, sigwatch_free)
