/* SPDX-License-Identifier: Apache-2.0 */
/* stopping.h - the last moments of a controller that was told to stop: what has come is
 * written and answered, but not waited for longer than a setting says
 *
 * Called by:  controller.c.
 * Thread:     the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct store;
struct timer;

struct stopping {
    struct loop *loop;
    struct timer *timer;
    int64_t timeout_us;
    bool is_written;
};

void stopping_init(struct stopping *stopping, struct loop *loop, int64_t timeout_us);
void stopping_fini(struct stopping *stopping);

/* Stops the loop when the store has written all and its answers are sent. A store that
 * has not after that time ends the process, as a kill does.
 */
void stopping_begin(struct stopping *stopping, struct store *store);
