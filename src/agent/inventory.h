/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h - what this node is and has: the machine and its topology
 *
 * Taken at the start, changed when the hardware does. Open struct: others look
 * and never write.
 *
 * Thread: the agent's loop; workers may look at a topology of it, which is why
 *         those of earlier are kept until the end.
 */
#pragma once

#include <stddef.h>

#include "agent/hardware/hardware.h"
#include "lib/base/macro.h"

struct agent_settings;
struct error;
struct machine;
struct topology;

struct inventory {
    struct machine *machine;
    struct hardware_request request; /* for looking again */
    struct topology *topology;
    struct topology **former;
    size_t n_former, former_capacity;
};

/* Borrows texts of the settings. */
int inventory_take(struct inventory *i,
                   const struct agent_settings *settings,
                   struct error *err);
void inventory_change(struct inventory *i, struct topology *is TAKES);
void inventory_fini(struct inventory *i);
