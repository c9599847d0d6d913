/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h - what this node is and has: the machine and its topology
 *
 * It is read at the start and replaced when the hardware changes. Open struct: other files
 * read it and never write.
 *
 * Thread: the agent's loop; workers may read a topology of it, so former
 *         topologies are kept until the end.
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
    struct hardware_request request; /* for later discoveries */
    struct topology *topology;
    struct topology **former;
    size_t n_former, former_capacity;
};

/* The inventory borrows texts of the settings. */
int inventory_take(struct inventory *i, const struct agent_settings *settings, struct error *err);
void inventory_change(struct inventory *i, struct topology *is TAKES);
void inventory_fini(struct inventory *i);
