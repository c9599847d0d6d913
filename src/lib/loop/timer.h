/* SPDX-License-Identifier: Apache-2.0 */
/* timer.h - a callback after a time, once or repeatedly
 *
 * Monotonic; a timer is early by at most the kernel's coarse tick (4 ms) and
 * may be late when the loop is busy. Starting a running timer restarts it. The
 * callback may free its timer.
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/loop/loop.h"

struct timer;

/* Life. A new timer is not running; freeing a timer stops it. */
void timer_free(struct timer *t);
struct timer *timer_new(struct loop *loop, loop_fn fn, void *arg) OWNED_BY(timer_free);
DEFINE_CLEANUP(struct timer, timer_free)

/* Negative times count as 0. */
void timer_start(struct timer *t, int64_t after_ms);
void timer_repeat(struct timer *t, int64_t every_ms);
void timer_stop(struct timer *t);

bool timer_is_running(const struct timer *t);
