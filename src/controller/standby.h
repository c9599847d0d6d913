/* SPDX-License-Identifier: Apache-2.0 */
/* standby.h - a controller that waits while another one leads
 *
 * Meanwhile its unit counts as started, and signals are handled.
 *
 * Called by:  controller.c, while the store is opened.
 * Thread:     the loop's, which is not running yet.
 */
#pragma once

#include <stdbool.h>

#include "controller/store/engine/engine.h"

struct loop;

struct standby {
    struct loop *loop;
    const bool *is_stopping; /* set by a signal */
    bool has_waited;
};

struct engine_waits standby_waits(struct standby *standby);
