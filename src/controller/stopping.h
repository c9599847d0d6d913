/* SPDX-License-Identifier: Apache-2.0 */
/* stopping.h - the last moments of a controller that was told to stop: what has come is
 * written and answered, but not waited for longer than a setting says
 *
 * Called by:  controller.c.
 * Thread:     the main one, and one that ends the process when the time is over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct apiserver;
struct loop;
struct store;
struct timer;

struct stopping {
    struct loop *loop;
    struct timer *timer;
    struct store *store;
    struct apiserver *api;
    int64_t timeout_us;
    bool is_bounded;
    bool is_written;
};

void stopping_init(struct stopping *stopping, struct loop *loop, int64_t timeout_us);
void stopping_fini(struct stopping *stopping);

/* From now on this process ends within that time, if need be as one that is killed. */
void stopping_bound(struct stopping *stopping);

/* Bounds the end, and stops the loop when the store has written all, has given the lead
 * back, and its answers are sent.
 */
void stopping_begin(struct stopping *stopping, struct store *store, struct apiserver *api);
